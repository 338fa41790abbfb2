package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.store.stats.WaitingCounts;
import carillon.testkit.World;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CensusTest {

  private static final String WAITING =
      """
      SELECT coalesce(string_agg(partition || ' ' || lane || ' ' || tasks, ', ' ORDER BY partition, lane), '')
      FROM carillon.waiting
      """;

  private World world;
  private final AtomicLong nanos = new AtomicLong();
  private Census census;

  @BeforeEach
  void open() {
    world = World.create();
    world.sql(
        "SELECT carillon.create_partition(DATE '2027-01-30'), carillon.create_partition(DATE"
            + " '2027-01-31')");
    world.sql(
        """
        INSERT INTO carillon.lane (tenant, type, priority, slice, route)
        SELECT 1, 't' || n, 5, 0, 'TYPE'
        FROM generate_series(1, 9) AS n
        """);
    insert("2027-01-30", 7, 3);
    insert("2027-01-31", 7, 5);
    insert("2027-01-31", 8, 1);
    census = census();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Census census() {
    return new Census(new WaitingCounts(world.db), world.clock, nanos::get);
  }

  /** Creates waiting tasks and the same number of cancelled ones. */
  private void insert(String day, int lane, int tasks) {
    world.sql(
        """
        WITH task AS (
            INSERT INTO carillon.task (tenant, id, partition, lane, state, ready_at, due_at, created_at)
            SELECT 1, gen_random_uuid(), DATE '%s', %d,
                   CASE WHEN n %% 2 = 0 THEN 'PENDING' ELSE 'CANCELLED' END::carillon.task_state,
                   CASE WHEN n %% 2 = 0 THEN now() END, now(), now()
            FROM generate_series(1, 2 * %d) AS n
            RETURNING *
        )
        INSERT INTO carillon.queue (ready_at, id, lane, partition)
        SELECT ready_at, id, lane, partition
        FROM task
        WHERE state = 'PENDING'
        """
            .formatted(day, lane, tasks));
    flushStatistics();
  }

  private void drop(String day) {
    world.sql(
        """
        DROP VIEW carillon.every_transition_%1$s, carillon.every_task_%1$s;
        DROP TABLE carillon.task_%1$s, carillon.queue_%1$s, carillon.attempt_%1$s, carillon.transition_%1$s
        """
            .formatted(day));
  }

  /** Publishes the statistics at once; PostgreSQL would delay them by some seconds. */
  private void flushStatistics() {
    world.sql("SELECT pg_stat_force_next_flush()");
  }

  /** Runs passes until a round has ended, and returns the pause after the last pass. */
  private Duration round() {
    String before = begunAt();
    Duration pause = census.countOnce();
    while (begunAt().equals(before)) {
      pause = census.countOnce();
    }
    return pause;
  }

  private String begunAt() {
    return world.value("SELECT begun_at FROM carillon.census");
  }

  @Test
  void waiting_tasks_are_counted_by_partition_and_lane() {
    round();

    assertThat(world.value(WAITING)).isEqualTo("2027-01-30 7 3, 2027-01-31 7 5, 2027-01-31 8 1");
  }

  @Test
  void the_count_of_an_emptied_lane_is_deleted() {
    round();
    world.sql("UPDATE carillon.task SET state = 'CANCELLED', ready_at = NULL WHERE lane = 7");
    world.sql("DELETE FROM carillon.queue WHERE lane = 7");
    flushStatistics();

    round();

    assertThat(world.value(WAITING)).isEqualTo("2027-01-31 8 1");
  }

  @Test
  void an_unchanged_count_is_not_written_again() {
    round();
    String rows =
        "SELECT string_agg(lane || ' ' || xmin, ', ' ORDER BY lane) FROM carillon.waiting";
    String before = world.value(rows + " WHERE partition = '2027-01-31' AND lane = 7");
    insert("2027-01-31", 8, 1);

    round();

    assertThat(world.value(WAITING)).contains("2027-01-31 8 2");
    assertThat(world.value(rows + " WHERE partition = '2027-01-31' AND lane = 7"))
        .isEqualTo(before);
  }

  @Test
  void only_changed_partitions_are_counted_again() {
    round();
    world.sql("UPDATE carillon.waiting SET tasks = 99");
    insert("2027-01-31", 9, 2);

    round();

    assertThat(world.value(WAITING))
        .isEqualTo("2027-01-30 7 99, 2027-01-31 7 5, 2027-01-31 8 1, 2027-01-31 9 2");
  }

  @Test
  void the_counts_of_a_dropped_partition_are_deleted() {
    world.sql("INSERT INTO carillon.waiting (lane, partition, tasks) VALUES (7, '2020-01-01', 5)");
    round();
    assertThat(world.value(WAITING)).doesNotContain("2020-01-01");

    world.sql("DELETE FROM carillon.partition WHERE day = '2027-01-30'");
    drop("20270130");
    round();

    assertThat(world.value(WAITING)).isEqualTo("2027-01-31 7 5, 2027-01-31 8 1");
  }

  @Test
  void a_partition_dropped_during_its_count_does_not_block_the_others() {
    census.countOnce(); // the first of two
    drop("20270131");
    for (int pass = 0; pass < 10; pass++) {
      census.countOnce();
    }

    assertThat(world.value("SELECT count(*) FROM carillon.waiting WHERE partition = '2027-01-30'"))
        .isEqualTo("1");
  }

  @Test
  void a_pass_pauses_a_hundred_times_its_duration_and_at_least_two_seconds() {
    Duration pause = round();
    assertThat(pause).as("after a pass that took no time").isEqualTo(Duration.ofSeconds(2));

    census =
        new Census(new WaitingCounts(world.db), world.clock, () -> nanos.getAndAdd(70_000_000));
    assertThat(census.countOnce()).isEqualTo(Duration.ofSeconds(7));
    assertThat(round()).isEqualTo(Duration.ofSeconds(7));

    census =
        new Census(
            new WaitingCounts(world.db), world.clock, () -> nanos.getAndAdd(3_600_000_000_000L));
    assertThat(census.countOnce()).isEqualTo(Duration.ofMinutes(15));
  }
}
