package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.schedule.FireHash;
import carillon.testkit.TestSchedule;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CronPlannerTest {

  private World world;
  private Instant start;
  private TestPlanner planner;

  @BeforeEach
  void open() {
    world = World.create();
    start = world.clock.instant().truncatedTo(ChronoUnit.DAYS).minus(Duration.ofDays(2));
    planner = new TestPlanner(world, start);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Instant at(long seconds) {
    return start.plusSeconds(seconds);
  }

  /** The outcomes of the nominal times, in seconds from the start. */
  private String fires() {
    return world.value(
        """
        SELECT string_agg(concat(extract(epoch FROM f.at - timestamptz '%s')::int, ' ',
                                 coalesce(f.skipped, f.outcome, t.state::text, 'no task')), ', ' ORDER BY f.at, f.local)
        FROM carillon.schedule_fire f
        LEFT JOIN carillon.task t ON t.id = f.task AND t.partition = f.partition
        """
            .formatted(start));
  }

  private String row(String columns) {
    return world.value("SELECT concat_ws(' ', " + columns + ") FROM carillon.schedule");
  }

  /** Ends a task directly, as an attempt would. */
  private void end(long fireAt, String state) {
    assertThat(
            world.sql(
                "UPDATE carillon.task SET state = '%s', ready_at = NULL, finished_at = now() WHERE fire_at = '%s'"
                    .formatted(state, at(fireAt))))
        .isEqualTo(1);
  }

  @Test
  void a_task_gets_the_spec_of_its_schedule_and_its_nominal_time() {
    long id =
        TestSchedule.every("nightly", Duration.ofMinutes(1))
            .with("overlap", "SKIP")
            .with("priority", 8)
            .with("key", "order-42")
            .with("payload", "{\"a\":  1}")
            .with(
                "retry",
                "{\"maxAttempts\":3,\"backoff\":\"fixed\",\"base\":\"PT1S\","
                    + "\"max\":\"PT1S\",\"jitter\":\"none\"}")
            .insert(world, start);

    planner.planAt(at(30));

    assertThat(
            world.value(
                """
                SELECT concat_ws(' ', schedule, fire_at = due_at, key, payload, concurrency_key, retry->>'maxAttempts',
                                 l.priority, l.type)
                FROM carillon.task t
                JOIN carillon.lane l ON l.id = t.lane
                """))
        .isEqualTo("nightly t order-42 {\"a\":  1} carillon.schedule.nightly 3 8 t");
    assertThat(world.value("SELECT task FROM carillon.schedule_fire"))
        .isEqualTo(FireHash.taskId(id, 1, at(60), at(60)).toString());
    assertThat(planner.events).hasSize(1);
  }

  @Test
  void a_schedule_is_planned_shortly_before_its_next_fire() {
    TestSchedule.every("s", Duration.ofHours(1)).insert(world, start);
    planner.planAt(start);

    assertThat(row("extract(epoch FROM plan_at - created_at)::int")).isEqualTo("3570");
    planner.planAt(at(3_569));
    assertThat(fires()).isEqualTo("null");
    planner.planAt(at(3_570));
    assertThat(fires()).isEqualTo("3600 PENDING");
  }

  @Test
  void consecutive_failures_pause_a_schedule_and_cancel_planned_fires() {
    TestSchedule.every("s", Duration.ofMinutes(1))
        .with("pause_after_failures", 2)
        .insert(world, start);
    planner.planAt(at(30));
    end(60, "DEAD");
    planner.planAt(at(90));
    end(120, "DEAD");
    planner.planAt(at(145));
    planner.planAt(at(150));

    assertThat(
            row("paused, paused_by, paused_reason LIKE '2 tasks in a row failed; the last is %'"))
        .isEqualTo("t carillon t");
    assertThat(row("runs, failed, failures_in_a_row, generation")).isEqualTo("2 2 0 2");
    assertThat(fires()).isEqualTo("60 DEAD, 120 DEAD");
    assertThat(world.value("SELECT concat_ws(' ', who, action, subject) FROM carillon.audit"))
        .isEqualTo("carillon schedule.pause s");
    planner.planAt(at(180));
    assertThat(fires()).isEqualTo("60 DEAD, 120 DEAD, 180 PAUSED");
  }

  @Test
  void a_pause_after_failures_cancels_planned_fires() {
    TestSchedule.every("s", Duration.ofSeconds(10))
        .with("pause_after_failures", 1)
        .insert(world, start);
    planner.planAt(start); // 10, 20, 30
    end(10, "DEAD");
    planner.planAt(at(11));

    assertThat(fires()).isEqualTo("10 DEAD");
    assertThat(row("runs, paused")).isEqualTo("1 t");
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE state = 'CANCELLED'"))
        .isEqualTo("2");
  }

  @Test
  void a_success_resets_the_count_of_consecutive_failures() {
    TestSchedule.every("s", Duration.ofMinutes(1))
        .with("pause_after_failures", 2)
        .insert(world, start);
    String[] ends = {"DEAD", "COMPLETED", "DEAD", "CANCELLED", "COMPLETED", "DEAD"};
    for (int i = 0; i < ends.length; i++) {
      planner.planAt(at(30 + 60L * i));
      end(60 + 60L * i, ends[i]);
    }
    planner.planAt(at(30 + 60L * ends.length));

    assertThat(row("paused, completed, failed, cancelled, failures_in_a_row"))
        .isEqualTo("f 2 3 1 1");
  }

  @Test
  void a_schedule_that_ended_after_its_last_run_still_records_outcomes() {
    TestSchedule.every("s", Duration.ofMinutes(1)).with("max_runs", 2).insert(world, start);
    planner.planUntil(at(300), Duration.ofSeconds(10));
    end(60, "COMPLETED");
    end(120, "COMPLETED");
    planner.planUntil(at(900), Duration.ofSeconds(10));

    assertThat(fires()).isEqualTo("60 COMPLETED, 120 COMPLETED, 180 ENDED");
    assertThat(row("runs, completed, skipped_ended, coalesce(plan_at::text, 'never')"))
        .isEqualTo("2 2 1 never");
  }

  @Test
  void the_end_of_a_schedule_is_inclusive() {
    TestSchedule.every("s", Duration.ofMinutes(1))
        .with("start_at", at(120))
        .with("end_at", at(180))
        .insert(world, start);

    planner.planUntil(at(400), Duration.ofSeconds(10));

    assertThat(fires()).isEqualTo("120 PENDING, 180 PENDING");
  }

  @Test
  void the_jitter_of_a_fire_is_the_same_on_every_node() {
    TestSchedule.every("s", Duration.ofMinutes(1)).with("jitter_ms", 45_000).insert(world, start);
    planner.planUntil(at(600), Duration.ofSeconds(10));
    String due = "SELECT string_agg(due_at::text, ' ' ORDER BY fire_at) FROM carillon.task";
    String first = world.value(due);
    world.sql("DELETE FROM carillon.schedule_fire");
    world.sql("DELETE FROM carillon.task");
    world.sql("UPDATE carillon.schedule SET cursor = created_at, plan_at = created_at");

    new TestPlanner(world.anotherProcess(), start).planUntil(at(600), Duration.ofSeconds(7));

    assertThat(world.value(due)).isEqualTo(first);
    assertThat(
            world.value(
                "SELECT min(due_at - fire_at) >= '0 s' AND max(due_at - fire_at) < '45 s' AND"
                    + " count(DISTINCT due_at - fire_at) > 5 FROM carillon.task"))
        .isEqualTo("t");
  }

  @Test
  void a_local_time_in_a_dst_gap_is_recorded_as_skipped() {
    start = Instant.parse("2026-03-29T00:00:00Z"); // an hour before Berlin's clocks jump
    TestSchedule.cron("s", "30 2 * * *", "Europe/Berlin")
        .with("dst_gap", "SKIP")
        .insert(world, start);

    planner.planAt(start).planAt(at(3_600)).planAt(at(88_170));

    assertThat(fires()).isEqualTo("3600 DST_GAP, 88200 PENDING");
    assertThat(world.value("SELECT local FROM carillon.schedule_fire ORDER BY at LIMIT 1"))
        .isEqualTo("2026-03-29 02:30:00");
    assertThat(row("runs, skipped_dst_gap")).isEqualTo("1 1");
  }

  @Test
  void an_unreadable_schedule_does_not_block_the_others() {
    TestSchedule.cron("broken", "not a cron", "UTC").insert(world, start);
    TestSchedule.every("s", Duration.ofMinutes(1)).insert(world, start);

    planner.planAt(at(30));

    assertThat(fires()).isEqualTo("60 PENDING");
    assertThat(planner.lag()).isZero();
  }

  @Test
  void a_schedule_that_cannot_be_written_is_postponed_and_does_not_block_the_others() {
    TestSchedule.every("broken", Duration.ofMinutes(1)).insert(world, start.minusSeconds(1));
    TestSchedule.every("s", Duration.ofMinutes(1)).insert(world, start);
    world.sql(
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.schedule = (SELECT id FROM carillon.schedule WHERE name = 'broken') THEN
                RAISE EXCEPTION 'refused';
            END IF;
            RETURN NEW;
        END
        $$
        """);
    world.sql(
        "CREATE TRIGGER refuse BEFORE INSERT ON carillon.schedule_fire FOR EACH ROW"
            + " EXECUTE FUNCTION refuse()");

    planner.planAt(at(30));

    assertThat(fires()).isEqualTo("60 PENDING");
  }

  @Test
  void a_fire_whose_task_was_deleted_has_the_outcome_gone() {
    TestSchedule.every("s", Duration.ofMinutes(1)).insert(world, start);
    planner.planAt(at(30));
    world.sql("DELETE FROM carillon.task");

    planner.planAt(at(90));

    assertThat(fires()).isEqualTo("60 GONE, 120 PENDING");
  }

  @Test
  void many_outcomes_are_recorded_in_batches() {
    TestSchedule.every("s", Duration.ofSeconds(1))
        .with("catch_up", "ALL")
        .with("catch_up_limit", 500)
        .with("end_at", at(500))
        .insert(world, start);
    planner.planAt(at(600));
    world.sql("UPDATE carillon.task SET state = 'COMPLETED', ready_at = NULL");

    planner.planAt(at(1_200));
    assertThat(row("completed")).isEqualTo("200");
    planner.planUntil(at(1_205), Duration.ofSeconds(1));

    assertThat(row("completed")).isEqualTo("500");
  }

  @Test
  void the_lag_is_the_longest_delay_of_a_due_schedule() {
    TestSchedule.every("s", Duration.ofHours(1)).insert(world, start);
    planner.planAt(start);

    assertThat(planner.lag()).isZero();
    assertThat(planner.standAt(at(3_600)).lag()).isEqualTo(Duration.ofSeconds(30));
  }
}
