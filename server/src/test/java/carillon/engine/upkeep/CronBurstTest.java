package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Many schedules that are due at the same time by the clock of the database. */
@Tag("slow")
class CronBurstTest {

  private static final Logger log = LoggerFactory.getLogger(CronBurstTest.class);
  private static final int SCHEDULES = 10_000;
  private static final int NOT_DUE = 100_000;
  private static final int PASSES = 200;

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  @Test
  void ten_thousand_fires_of_one_second_have_their_tasks_before_that_second() {
    Instant start = world.clock.instant();
    Instant due = start.truncatedTo(ChronoUnit.SECONDS).plusSeconds(30);
    world.sql(
        """
        INSERT INTO carillon.schedule (
            tenant, name, every_ms, timezone, dst_gap, dst_overlap, overlap, catch_up, catch_up_limit,
            catch_up_window_ms, jitter_ms, type, target, created_at, updated_at, anchor, cursor, plan_at)
        SELECT 1, 's' || n, 3600000, 'UTC', 'SHIFT', 'FIRST', (ARRAY['SKIP', 'ALLOW', 'QUEUE'])[1 + n %% 3], 'LAST',
               100, 604800000, 0, 't', '{"discard": {}}', now(), now(), '%1$s', timestamptz '%1$s' - interval '1 hour',
               timestamptz '%1$s' - interval '30 s'
        FROM generate_series(1, %2$d) AS n
        """
            .formatted(due, SCHEDULES));

    new TestPlanner(world, start).planAt(due.minusSeconds(30));

    Duration left = Duration.between(world.clock.instant(), due);
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE due_at = '" + due + "'"))
        .isEqualTo("" + SCHEDULES);
    log.info("all tasks were created {} before they were due", left);
    assertThat(left).as("time left when all tasks were created").isPositive();
  }

  @Test
  void a_pass_reads_none_of_a_hundred_thousand_schedules_that_are_not_due() {
    Instant now = world.clock.instant().truncatedTo(ChronoUnit.SECONDS);
    world.sql(
        """
        INSERT INTO carillon.schedule (
            tenant, name, every_ms, timezone, dst_gap, dst_overlap, overlap, catch_up, catch_up_limit,
            catch_up_window_ms, jitter_ms, type, created_at, updated_at, anchor, cursor, plan_at)
        SELECT 1, 's' || n, 86400000, 'UTC', 'SHIFT', 'FIRST', 'SKIP', 'LAST', 100, 604800000, 0, 't', now(), now(),
               now(), now(), timestamptz '%s' + interval '1 hour' + n * interval '1 ms'
        FROM generate_series(1, %d) AS n
        """
            .formatted(now, NOT_DUE));
    var planner = new TestPlanner(world, now);
    long[] micros = new long[PASSES];
    for (int i = 0; i < PASSES; i++) {
      long start = System.nanoTime();
      planner.planAt(now.plusMillis(i));
      micros[i] = (System.nanoTime() - start) / 1_000;
    }

    Arrays.sort(micros);
    log.info("a pass took {} µs, at worst {} µs", micros[PASSES / 2], micros[PASSES - 1]);
    // SchedulePlansTest asserts what a pass reads; how long that takes depends on the machine.
    assertThat(planner.events).isEmpty();
  }
}
