package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The clock of a database that responds late, or that is set. */
class DbClockTest {

  private static World world;
  private static Db odd;

  private final DbClock clock = new DbClock(InstantSource.system());

  /** Replaces clock_timestamp() for the sessions of {@link #odd}, and for no others. */
  @BeforeAll
  static void open() {
    world = World.create();
    world.sql(
        """
        CREATE SCHEMA odd;
        CREATE TABLE odd.clock (response_late interval NOT NULL, ahead interval NOT NULL);
        INSERT INTO odd.clock VALUES ('0', '0');
        CREATE FUNCTION odd.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$
        DECLARE
          clock odd.clock;
          result timestamptz;
        BEGIN
          SELECT * INTO clock FROM odd.clock;
          result := pg_catalog.clock_timestamp() + clock.ahead;
          PERFORM pg_sleep_for(clock.response_late);
          RETURN result;
        END
        $$;
        DO 'BEGIN EXECUTE format(''ALTER DATABASE %I SET search_path = odd, pg_catalog'', current_database()); END'
        """);
    odd = Db.open(world.address, "odd", 1);
  }

  @AfterAll
  static void close() {
    odd.close();
    world.close();
  }

  /** On a busy machine a single measurement may be slow. */
  private void measureExactly() {
    await()
        .until(
            () -> {
              clock.measure(world.db);
              return !clock.isInexact();
            });
  }

  private void measure(Duration responseLate, Duration ahead) {
    world.sql(
        "UPDATE odd.clock SET response_late = '%s', ahead = '%s'".formatted(responseLate, ahead));
    clock.measure(odd);
  }

  private static Instant databaseTime() {
    return Instant.parse(
        world.value("SELECT to_json(pg_catalog.clock_timestamp() AT TIME ZONE 'UTC') #>> '{}'")
            + "Z");
  }

  @Test
  void the_latest_time_is_not_before_the_databases_time_however_slow_the_measurement() {
    measure(Duration.ofMillis(100), Duration.ZERO);

    Instant database = databaseTime();
    assertThat(clock.latest()).isAfterOrEqualTo(database);
    assertThat(clock.instant()).isBefore(clock.latest().minusMillis(40));
    assertThat(clock.isInexact()).isTrue();
  }

  @Test
  void an_exact_measurement_replaces_a_slow_one() {
    measure(Duration.ofMillis(100), Duration.ZERO);

    measureExactly();

    Instant database = databaseTime();
    assertThat(clock.latest()).isAfterOrEqualTo(database);
    assertThat(clock.latest()).isBefore(databaseTime().plusMillis(20));
  }

  @Test
  void a_slow_measurement_does_not_replace_an_exact_one_and_is_repeated_soon() {
    measureExactly();
    measure(Duration.ofMillis(100), Duration.ZERO);

    assertThat(clock.latest()).isBefore(databaseTime().plusMillis(20));
    assertThat(clock.isInexact()).isTrue();

    measureExactly();
  }

  @Test
  void a_slow_measurement_of_another_time_replaces_an_exact_one() {
    measureExactly();
    measure(Duration.ofMillis(100), Duration.ofHours(1));

    assertThat(clock.instant()).isAfter(databaseTime().plus(Duration.ofMinutes(59)));
  }
}
