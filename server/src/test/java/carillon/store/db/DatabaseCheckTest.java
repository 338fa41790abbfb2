package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.testkit.World;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DatabaseCheckTest {

  private static final String GUEST = "database_check_guest";

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
    world.sqlAsSuperuser("CREATE ROLE " + GUEST + " LOGIN PASSWORD 'guest'");
    world.sql("GRANT ALL ON ALL TABLES IN SCHEMA carillon TO " + GUEST);
    world.sql("GRANT ALL ON SCHEMA carillon TO " + GUEST);
  }

  @AfterEach
  void close() {
    world.sqlAsSuperuser("DROP OWNED BY " + GUEST);
    world.sqlAsSuperuser("DROP ROLE " + GUEST);
    world.close();
  }

  @Test
  void a_role_that_does_not_own_the_tables_is_rejected() {
    Db.Address guest = new Db.Address(world.address.url(), GUEST, "guest");
    String owner = world.address.user();

    assertThat(DatabaseCheck.refusal(guest))
        .contains(
            "the tables belong to %1$s, and %2$s cannot create their partitions: connect as %1$s, or GRANT %1$s TO %2$s and ALTER ROLE %2$s SET role = '%1$s'"
                .formatted(owner, GUEST));

    world.sqlAsSuperuser("GRANT " + owner + " TO " + GUEST);
    assertThat(DatabaseCheck.refusal(guest)).isEmpty();
  }

  @Test
  void the_error_names_the_grant_needed_to_create_the_schema() {
    try (World empty = World.on(world.address)) {
      empty.mayMisplaceTasks(); // there are no tables
      world.mayMisplaceTasks();
      empty.sql("DROP SCHEMA carillon CASCADE");
      Db.Address guest = new Db.Address(empty.address.url(), GUEST, "guest");
      String database = empty.address.url().replaceAll(".*/", "");

      assertThat(DatabaseCheck.refusal(guest))
          .contains(
              "the role %s may not create the schema carillon: CREATE SCHEMA carillon AUTHORIZATION %s, or GRANT CREATE ON DATABASE %s TO %s"
                  .formatted(GUEST, GUEST, database, GUEST));

      empty.sql("CREATE SCHEMA carillon");
      assertThat(DatabaseCheck.refusal(guest))
          .contains(
              "the role %s may not create tables in the schema carillon: connect as its owner, or ALTER SCHEMA carillon OWNER TO %s"
                  .formatted(GUEST, GUEST));

      empty.sqlAsSuperuser("ALTER SCHEMA carillon OWNER TO " + GUEST);
      assertThat(DatabaseCheck.refusal(guest)).isEmpty();
    }
  }

  @Test
  void too_few_locks_for_the_retention_are_reported() {
    assertThat(DatabaseCheck.advice(world.address, Duration.ofDays(30))).isEmpty();
    assertThat(DatabaseCheck.advice(world.address, Duration.ofDays(100_000)))
        .hasValueSatisfying(
            line ->
                assertThat(line)
                    .matches(
                        "max_locks_per_transaction is \\d+, too few for partitions of 100000 days:"
                            + " set it to \\d+ or more"));
  }
}
