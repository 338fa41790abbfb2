package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.engine.upkeep.Backfiller;
import carillon.engine.upkeep.TestPlanner;
import carillon.model.schedule.OverlapRule;
import carillon.model.target.Target;
import carillon.model.task.NewTask;
import carillon.store.schedules.Backfills;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.ScheduleRows;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Payloads of the maximum size. A step handles about 16 MiB of payloads, which is 64 of these. */
@Tag("slow")
class LargePayloadsTest {

  private static final int PAYLOAD = 256 << 10;
  private static final int PER_STEP = 64;

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static List<Integer> steps(List<EngineEvent> events) {
    List<Integer> steps = new ArrayList<>();
    for (EngineEvent event : events) {
      if (event instanceof EngineEvent.Fired fired) {
        steps.add(fired.tasks());
      } else if (event instanceof EngineEvent.Backfilled backfilled) {
        steps.add(backfilled.tasks());
      }
    }
    return steps;
  }

  @Test
  void a_thousand_schedules_due_at_once_are_planned_in_several_steps() {
    Instant now = world.clock.instant().truncatedTo(ChronoUnit.SECONDS);
    world.sql(
        """
        INSERT INTO carillon.schedule (
            tenant, name, every_ms, timezone, dst_gap, dst_overlap, overlap, catch_up, catch_up_limit,
            catch_up_window_ms, jitter_ms, type, target, payload, created_at, updated_at, anchor, cursor, plan_at)
        SELECT 1, 's' || n, 3600000, 'UTC', 'SHIFT', 'FIRST', 'SKIP', 'LAST', 100, 604800000, 0, 't',
               '{"discard": {}}', '"' || repeat('x', %2$d) || '"', now(), now(), '%1$s',
               timestamptz '%1$s' - interval '1 hour', '%1$s'
        FROM generate_series(1, 1000) AS n
        """
            .formatted(now, PAYLOAD - 2));

    TestPlanner planner = new TestPlanner(world, now).planAt(now);

    assertThat(steps(planner.events)).hasSize(16).allMatch(tasks -> tasks <= PER_STEP);
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("1000");
  }

  @Test
  void schedules_with_many_missed_fires_are_planned_one_at_a_time() {
    Instant now = world.clock.instant().truncatedTo(ChronoUnit.SECONDS);
    world.sql(
        """
        INSERT INTO carillon.schedule (
            tenant, name, every_ms, timezone, dst_gap, dst_overlap, overlap, catch_up, catch_up_limit,
            catch_up_window_ms, jitter_ms, type, target, payload, created_at, updated_at, anchor, cursor, plan_at)
        SELECT 1, 's' || n, 60000, 'UTC', 'SHIFT', 'FIRST', 'SKIP', 'ALL', 70, 604800000, 0, 't', '{"discard": {}}',
               '"' || repeat('x', %2$d) || '"', now(), now(), '%1$s', timestamptz '%1$s' - interval '2 hours', '%1$s'
        FROM generate_series(1, 3) AS n
        """
            .formatted(now.minus(Duration.ofDays(1)), PAYLOAD - 2));

    TestPlanner planner = new TestPlanner(world, now).planAt(now);

    assertThat(steps(planner.events).stream().filter(tasks -> tasks > 0))
        .containsExactly(70, 70, 70);
  }

  @Test
  void a_backfill_step_creates_as_many_tasks_as_fit() {
    new ScheduleRows(world).every("s", 1);
    world.sql(
        "UPDATE carillon.schedule SET payload = '\"' || repeat('x', " + PAYLOAD + " - 2)|| '\"'");
    Instant from = Instant.parse("2025-10-01T10:00:00Z");
    var request = new Backfills.Request(from, from.plusSeconds(498), OverlapRule.ALLOW, false);
    new ScheduleRows(world).backfill("s", request);
    List<EngineEvent> events = new ArrayList<>();
    var backfiller = new Backfiller(world.store.backfillSteps(), events::add);

    while (backfiller.backfillOnce().isZero()) {
      // until nothing is left
    }

    assertThat(steps(events)).containsExactly(64, 64, 64, 64, 64, 64, 64, 51);
  }

  @Test
  void lanes_that_do_not_fit_into_one_claim_are_claimed_next_without_a_sweep() {
    List<NewTask> large = new ArrayList<>();
    for (int type = 0; type < 3; type++) {
      large.addAll(Collections.nCopies(PER_STEP, large("t" + type)));
    }
    large.forEach(world::create);
    String ready = "SELECT count(*) FROM carillon.task WHERE ready_at <= now()";
    await().until(() -> world.value(ready).equals(Integer.toString(large.size())));
    try (var node = new ManualNode(world, "node", new FakeDeliverer(), _ -> {})) {
      Seats seats = new Seats(2 * large.size());
      Claimer claimer = node.claimer(seats);

      int passes = 0;
      do {
        passes++;
      } while (claimer.claimOnce().delay().compareTo(Duration.ZERO) <= 0 && passes < 20);

      assertThat(world.value("SELECT count(*) FROM carillon.every_task WHERE state = 'PENDING'"))
          .isEqualTo("0");
      assertThat(passes).isLessThan(8);
    }
  }

  private static NewTask large(String type) {
    return TestTask.of(type)
        .payload("\"" + "x".repeat(PAYLOAD - 2) + "\"")
        .target(new Target.Discard())
        .build();
  }

  @Test
  void a_batch_of_large_payloads_is_written_with_copy() {
    world.countStatements();
    world.db.inTransaction(
        tx -> world.tasks.createAll(tx, World.TENANT, Collections.nCopies(150, large("t"))));

    assertThat(
            world.value(
                """
                SELECT concat_ws(' ', sum(calls) FILTER (WHERE query ~ 'COPY'), sum(rows))
                FROM pg_stat_statements s
                JOIN pg_database d ON d.oid = s.dbid
                WHERE d.datname = current_database()
                  AND s.query ~ '(COPY|INSERT INTO) carillon.task_[0-9]'
                """))
        .isEqualTo("1 150");
  }
}
