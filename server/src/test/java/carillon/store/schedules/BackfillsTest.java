package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TenantId;
import carillon.model.schedule.OverlapRule;
import carillon.model.task.TaskState;
import carillon.store.schedules.Backfill.State;
import carillon.store.schedules.Backfills.Request;
import carillon.store.schedules.Backfills.Result;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskView;
import carillon.testkit.ScheduleRows;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BackfillsTest {

  private static final Instant TEN = Instant.parse("2025-10-01T10:00:00Z");
  private static final Request TEN_MINUTES =
      new Request(TEN, TEN.plusSeconds(600), OverlapRule.QUEUE, false);

  private World world;
  private ScheduleRows scheduled;

  @BeforeEach
  void open() {
    world = World.create();
    scheduled = new ScheduleRows(world);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Backfill started(String schedule, Request request) {
    return ((Result.Saved) scheduled.backfill(schedule, request)).backfill();
  }

  private Backfills.Range range(String schedule, Request request) {
    return world.store.backfills().count(stored(schedule), request).orElseThrow();
  }

  private StoredSchedule stored(String schedule) {
    return world.store.backfills().schedule(World.TENANT, schedule).orElseThrow();
  }

  private Backfill find(Backfill backfill) {
    return world
        .store
        .backfills()
        .find(World.TENANT, backfill.schedule(), backfill.id())
        .orElseThrow();
  }

  /** Takes all steps of a backfill. */
  private Backfill run(Backfill backfill) {
    while (!world.store.backfillSteps().take(backfill.id()).isOver()) {
      assertThat(find(backfill).state()).isEqualTo(State.RUNNING);
    }
    return find(backfill);
  }

  private List<TaskView> tasks(String schedule) {
    TaskFilter filter = new TaskFilter(null, null, null, schedule, null, null, null, Map.of());
    return world
        .store
        .schedules()
        .tasks(World.TENANT, filter, 1_000, null, true)
        .orElseThrow()
        .items()
        .reversed();
  }

  @Test
  void every_nominal_time_of_the_inclusive_range_becomes_a_task() {
    long id = scheduled.every("s", 300);

    Backfill done = run(started("s", TEN_MINUTES));

    assertThat(done.state()).isEqualTo(State.DONE);
    assertThat(done.finishedAt()).isNotNull();
    assertThat(List.of(done.times(), done.created(), done.existing(), done.skipped()))
        .containsExactly(3, 3, 0, 0);
    assertThat(scheduled.fires(id))
        .isEqualTo("10:00:00 BACKFILL task, 10:05:00 BACKFILL task, 10:10:00 BACKFILL task");
    assertThat(tasks("s"))
        .extracting(TaskView::fireAt)
        .containsExactly(TEN, TEN.plusSeconds(300), TEN.plusSeconds(600));
    assertThat(tasks("s"))
        .allSatisfy(
            task -> {
              assertThat(task.scheduleName()).isEqualTo("s");
              assertThat(task.state()).isEqualTo(TaskState.PENDING);
              assertThat(task.type()).isEqualTo("report");
              assertThat(task.key()).isEqualTo("k");
              assertThat(task.priority()).isEqualTo(7);
              assertThat(task.spec().payload()).isEqualTo("{\"n\": 1}");
              assertThat(task.dueAt()).isAfter(done.createdAt());
            });
  }

  @ParameterizedTest
  @CsvSource({"QUEUE, carillon.schedule.s", "ALLOW,"})
  void queued_tasks_share_a_concurrency_key(OverlapRule overlap, String key) {
    scheduled.every("s", 300);

    run(started("s", new Request(TEN, TEN.plusSeconds(600), overlap, false)));

    assertThat(tasks("s")).extracting(task -> task.spec().concurrencyKey()).containsOnly(key);
  }

  @Test
  void a_time_with_a_task_keeps_it_and_a_skipped_time_gets_one() {
    long id = scheduled.every("s", 300);
    scheduled.recordTask(id, "2025-10-01T10:00:00Z", "UTC");
    scheduled.recordSkip(id, "2025-10-01T10:05:00Z", "OVERLAP");
    world.sql("UPDATE carillon.schedule_fire SET recorded_at = '2025-10-01'");
    world.sql("UPDATE carillon.schedule SET skipped_overlap = 5, skipped_paused = 5");

    Backfill done = run(started("s", TEN_MINUTES));

    assertThat(
            world.value(
                "SELECT concat_ws(' ', skipped_overlap, skipped_paused) FROM carillon.schedule"))
        .isEqualTo("4 5");

    assertThat(List.of(done.times(), done.created(), done.existing())).containsExactly(3, 2, 1);
    assertThat(scheduled.fires(id))
        .isEqualTo("10:00:00 SCHEDULED task, 10:05:00 BACKFILL task, 10:10:00 BACKFILL task");
    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.schedule_fire WHERE recorded_at > '2025-10-02'"))
        .isEqualTo("2");
  }

  @Test
  void a_time_with_a_task_is_recognized_after_a_change_of_time_zone() {
    long id = scheduled.cron("s", "0 * * * *", "UTC");
    scheduled.recordTask(id, "2025-10-01T10:00:00Z", "Europe/Berlin"); // its previous zone

    assertThat(run(started("s", TEN_MINUTES)).existing()).isEqualTo(1);
    assertThat(scheduled.fires(id)).isEqualTo("10:00:00 SCHEDULED task");
  }

  @Test
  void a_time_in_a_dst_gap_is_recorded_as_skipped() {
    long id = scheduled.cron("s", "30 * * * *", "Europe/Berlin"); // 02:30 did not exist
    Instant start = Instant.parse("2025-03-30T00:00:00Z");

    Backfill done =
        run(started("s", new Request(start, start.plusSeconds(7_200), OverlapRule.QUEUE, false)));

    assertThat(List.of(done.times(), done.created(), done.skipped())).containsExactly(3, 2, 1);
    assertThat(scheduled.fires(id))
        .isEqualTo("00:30:00 BACKFILL task, 01:00:00 BACKFILL DST_GAP, 01:30:00 BACKFILL task");
  }

  @Test
  void skipped_times_of_a_backfill_are_not_added_to_the_counters() {
    scheduled.cron("s", "30 * * * *", "Europe/Berlin");
    Instant start = Instant.parse("2025-03-30T00:00:00Z");
    var request = new Request(start, start.plusSeconds(7_200), OverlapRule.QUEUE, false);
    run(started("s", request));

    world.sql("UPDATE carillon.schedule SET dst_gap = 'SHIFT'");
    Backfill again = run(started("s", request));

    assertThat(List.of(again.created(), again.existing())).containsExactly(1, 2);
    assertThat(world.value("SELECT skipped_dst_gap FROM carillon.schedule")).isEqualTo("0");
  }

  @Test
  void times_without_recorded_fires_are_rejected_unless_repeats_are_allowed() {
    long id = scheduled.every("s", 86_400);
    world.sql("UPDATE carillon.schedule SET created_at = now() - interval '100 d'");
    Instant now = world.clock.instant();
    Instant old = now.minus(Duration.ofDays(60)).truncatedTo(ChronoUnit.DAYS);
    scheduled.recordTask(id, old.toString(), "UTC");
    Request request = new Request(old, old.plusSeconds(60), OverlapRule.QUEUE, false);
    world.sql("UPDATE carillon.schedule_fire SET recorded_at = at, outcome = 'COMPLETED'");
    assertThat(world.store.fireRetention().forgetOld(Duration.ofDays(30), 10)).isEqualTo(1);

    Instant known = ((Result.Forgotten) scheduled.backfill("s", request)).known();

    assertThat(known).isBetween(now.minus(Duration.ofDays(30)), now.minus(Duration.ofDays(29)));
    assertThat(scheduled.backfill("s", new Request(TEN, now, OverlapRule.QUEUE, false)))
        .isInstanceOf(Result.Forgotten.class);
    assertThat(started("s", new Request(known, now, OverlapRule.QUEUE, false)).times())
        .isBetween(29, 30);
    assertThat(started("s", new Request(TEN, TEN.plusSeconds(1), OverlapRule.QUEUE, false)).times())
        .as("times before the schedule was created")
        .isZero();
    Backfill again = started("s", new Request(old, old.plusSeconds(60), OverlapRule.QUEUE, true));
    assertThat(run(again).created()).isEqualTo(1);
  }

  @Test
  void a_large_backfill_runs_in_steps_and_its_tasks_are_due_in_order() {
    long id = scheduled.every("s", 1);
    Backfill backfill =
        started("s", new Request(TEN, TEN.plusSeconds(2_499), OverlapRule.QUEUE, false));

    assertThat(world.store.backfillSteps().take(backfill.id()))
        .isEqualTo(new BackfillSteps.Step(1_000, false));
    assertThat(find(backfill))
        .extracting(Backfill::created, Backfill::times)
        .contains(1_000, 2_500);
    Backfill done = run(backfill);

    assertThat(done.created()).isEqualTo(2_500);
    assertThat(scheduled.countMismatches(id)).isEqualTo("0");
    assertThat(
            world.value(
                """
                SELECT count(*)
                FROM (SELECT ready_at - lag(ready_at) OVER (ORDER BY fire_at) AS gap FROM carillon.task) AS t
                WHERE gap <= interval '0'
                """))
        .isEqualTo("0");
  }

  @Test
  void a_step_uses_the_current_definition_of_the_schedule() {
    long id = scheduled.every("s", 1);
    Backfill backfill =
        started("s", new Request(TEN, TEN.plusSeconds(1_999), OverlapRule.QUEUE, false));
    world.store.backfillSteps().take(backfill.id());

    world.sql("UPDATE carillon.schedule SET every_ms = 500000, type = 'other'");
    Backfill done = run(backfill);

    assertThat(done.created()).isEqualTo(1_002); // two more, at 1,000 s and 1,500 s
    assertThat(world.value("SELECT count(*) FROM carillon.schedule_fire WHERE schedule = " + id))
        .isEqualTo("1002");
    assertThat(tasks("s").getLast().type()).isEqualTo("other");
  }

  @Test
  void times_outside_the_schedule_are_not_nominal_times() {
    long id = scheduled.every("s", 60);
    world.sql(
        "UPDATE carillon.schedule SET start_at = '2025-10-01T10:02:00Z', end_at ="
            + " '2025-10-01T10:04:00Z'");

    assertThat(run(started("s", TEN_MINUTES)).times()).isEqualTo(3);
    assertThat(scheduled.fires(id)).startsWith("10:02:00").contains("10:03:00", "10:04:00");
  }

  @Test
  void outcomes_are_recorded_for_a_schedule_without_further_fires() {
    scheduled.every("s", 300);
    assertThat(world.value("SELECT plan_at FROM carillon.schedule")).isEqualTo("null");

    run(started("s", TEN_MINUTES));

    assertThat(world.value("SELECT plan_at > now() + interval '50 s' FROM carillon.schedule"))
        .isEqualTo("t");
  }

  @Test
  void a_range_without_nominal_times_is_done_at_once() {
    scheduled.every("s", 300);

    Backfill done =
        run(
            started(
                "s",
                new Request(TEN.plusSeconds(1), TEN.plusSeconds(2), OverlapRule.QUEUE, false)));

    assertThat(done.state()).isEqualTo(State.DONE);
    assertThat(done.times()).isZero();
  }

  @Test
  void a_future_or_too_large_range_is_rejected() {
    scheduled.every("s", 1);
    Instant soon = world.clock.instant().plusSeconds(60);

    assertThat(scheduled.backfill("s", new Request(TEN, soon, OverlapRule.QUEUE, false)))
        .isInstanceOf(Result.NotPast.class);
    assertThat(
            scheduled.backfill(
                "s", new Request(TEN, TEN.plusSeconds(100_000), OverlapRule.QUEUE, false)))
        .isEqualTo(new Result.TooManyTimes());
    assertThat(scheduled.backfill("none", TEN_MINUTES)).isEqualTo(new Result.NotFound());
    assertThat(world.value("SELECT count(*) FROM carillon.backfill")).isEqualTo("0");
    assertThat(
            started("s", new Request(TEN, TEN.plusSeconds(99_999), OverlapRule.QUEUE, false))
                .times())
        .isEqualTo(100_000);
  }

  @Test
  void a_tenant_has_at_most_20_open_backfills() {
    scheduled.every("s", 300);
    for (int i = 0; i < Backfills.MAX_OPEN; i++) {
      started("s", TEN_MINUTES);
    }

    assertThat(scheduled.backfill("s", TEN_MINUTES)).isEqualTo(new Result.TooManyOpen());
    world.store.backfillSteps().open(1).forEach(world.store.backfillSteps()::take);
    assertThat(scheduled.backfill("s", TEN_MINUTES)).isInstanceOf(Result.Saved.class);
  }

  @Test
  void a_dry_run_counts_and_starts_nothing() {
    long id = scheduled.every("s", 300);
    scheduled.recordTask(id, "2025-10-01T10:05:00Z", "UTC");

    Result counted = world.store.backfills().dryRun(range("s", TEN_MINUTES));

    assertThat(counted).isEqualTo(new Result.Counted(3, 1));
    assertThat(world.value("SELECT count(*) FROM carillon.backfill")).isEqualTo("0");
    assertThat(world.value("SELECT count(*) FROM carillon.audit")).isEqualTo("0");
  }

  @Test
  void a_dry_run_reads_in_batches() {
    long id = scheduled.every("s", 1);
    scheduled.recordTask(id, "2025-10-01T10:00:00Z", "UTC");
    scheduled.recordTask(id, "2025-10-01T10:20:00Z", "UTC");
    scheduled.recordTask(id, "2025-10-01T10:41:39Z", "UTC");

    var range = range("s", new Request(TEN, TEN.plusSeconds(2_499), OverlapRule.QUEUE, false));

    assertThat(world.store.backfills().dryRun(range)).isEqualTo(new Result.Counted(2_500, 3));
  }

  @Test
  void a_schedule_deleted_by_a_concurrent_transaction_is_not_found() {
    scheduled.every("s", 300);
    Backfill backfill = started("s", TEN_MINUTES);
    var range = range("s", TEN_MINUTES);
    world.sql(
        """
        CREATE FUNCTION carillon.delete_schedule() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN DELETE FROM carillon.schedule; RETURN NEW; END $$;
        CREATE TRIGGER delete_schedule AFTER UPDATE ON carillon.backfill
        FOR EACH ROW EXECUTE FUNCTION carillon.delete_schedule()
        """);

    assertThat(
            world.db.<Result>inTransaction(
                tx -> world.store.backfills().stop(tx, World.TENANT, "s", backfill.id(), "me")))
        .isEqualTo(new Result.NotFound());
    assertThat(world.db.<Result>inTransaction(tx -> world.store.backfills().start(tx, range, "me")))
        .isEqualTo(new Result.NotFound());
  }

  @Test
  void a_stopped_backfill_creates_no_further_task() {
    scheduled.every("s", 1);
    Backfill backfill =
        started("s", new Request(TEN, TEN.plusSeconds(1_999), OverlapRule.QUEUE, false));
    world.store.backfillSteps().take(backfill.id());

    Result stopped =
        world.db.inTransaction(
            tx -> world.store.backfills().stop(tx, World.TENANT, "s", backfill.id(), "me"));
    Result again =
        world.db.inTransaction(
            tx -> world.store.backfills().stop(tx, World.TENANT, "s", backfill.id(), "me"));

    assertThat(world.store.backfillSteps().take(backfill.id()))
        .isEqualTo(new BackfillSteps.Step(0, true));
    assertThat(stopped).isEqualTo(new Result.Saved(find(backfill)));
    assertThat(again).isInstanceOf(Result.WrongState.class);
    assertThat(find(backfill))
        .extracting(Backfill::created, Backfill::state)
        .containsExactly(1_000, State.STOPPED);
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("1000");
    assertThat(world.value("SELECT string_agg(action, ' ' ORDER BY id) FROM carillon.audit"))
        .isEqualTo("schedule.backfill schedule.backfill.stop");
  }

  @Test
  void a_deleted_schedule_stops_its_backfills() {
    scheduled.every("s", 300);
    Backfill backfill = started("s", TEN_MINUTES);
    world.sql("DELETE FROM carillon.schedule");

    assertThat(world.store.backfillSteps().take(backfill.id()))
        .isEqualTo(new BackfillSteps.Step(0, true));
    assertThat(world.value("SELECT state FROM carillon.backfill")).isEqualTo("STOPPED");
    assertThat(world.value("SELECT count(*) FROM carillon.schedule_fire")).isEqualTo("0");
    assertThat(
            world.value(
                "SELECT who || ' ' || subject FROM carillon.audit WHERE action LIKE '%stop'"))
        .isEqualTo("carillon s");
  }

  @Test
  void backfills_are_found_only_in_their_tenant_and_schedule() {
    scheduled.every("s", 300);
    scheduled.every("other", 300);
    Backfill backfill = started("s", TEN_MINUTES);

    assertThat(find(backfill)).isEqualTo(backfill);
    assertThat(world.store.backfills().find(new TenantId(99), "s", backfill.id())).isEmpty();
    assertThat(world.store.backfills().find(World.TENANT, "other", backfill.id())).isEmpty();
    assertThat(world.store.backfills().schedule(new TenantId(99), "s")).isEmpty();
    assertThat(world.store.backfills().list(stored("other"), 10, null).items()).isEmpty();
  }

  @Test
  void backfills_are_listed_page_by_page_newest_first() {
    scheduled.every("s", 300);
    List<Backfill> backfills = List.of(started("s", TEN_MINUTES), started("s", TEN_MINUTES));

    var first = world.store.backfills().list(stored("s"), 1, null);
    var second = world.store.backfills().list(stored("s"), 1, first.next());

    assertThat(first.items()).containsExactly(backfills.get(1));
    assertThat(second.items()).containsExactly(backfills.get(0));
    assertThat(second.next()).isNull();
  }

  @Test
  void only_backfills_that_ended_a_week_ago_are_deleted() {
    scheduled.every("s", 300);
    Backfill old = run(started("s", TEN_MINUTES));
    Backfill recent = run(started("s", TEN_MINUTES));
    Backfill open = started("s", TEN_MINUTES);
    world.sql(
        "UPDATE carillon.backfill SET finished_at = now() - interval '8 days' WHERE id = '%s'"
            .formatted(old.id()));
    world.sql("UPDATE carillon.backfill SET created_at = now() - interval '30 days'");

    assertThat(world.store.backfills().forgetOld(10)).isEqualTo(1);
    assertThat(List.of(old, recent, open))
        .extracting(each -> world.store.backfills().find(World.TENANT, "s", each.id()))
        .extracting(Optional::isPresent)
        .containsExactly(false, true, true);
  }
}
