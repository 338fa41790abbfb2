package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.cron.DstRule;
import carillon.model.schedule.CatchUp;
import carillon.model.schedule.OverlapRule;
import carillon.model.schedule.Schedule;
import carillon.model.schedule.SkipReason;
import carillon.model.target.Target;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import carillon.store.catalog.Audit;
import carillon.store.db.Page;
import carillon.store.db.Tx;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SchedulesTest {

  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");
  private static final Schedules.Expected ANY = Schedules.Expected.ANY;

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static Schedule hourly(@Nullable Instant startAt, @Nullable Instant endAt) {
    return new Schedule(
        "n",
        null,
        Duration.ofHours(1),
        BERLIN,
        DstRule.DEFAULT,
        OverlapRule.SKIP,
        CatchUp.DEFAULT,
        Duration.ZERO,
        startAt,
        endAt,
        null,
        null,
        new Schedule.TaskTemplate("t", "k", 7, "{\"a\": 1.0}", null, null));
  }

  private static Schedule withEverything(String cron, Instant start) {
    return new Schedule(
        "n",
        cron,
        null,
        BERLIN,
        new DstRule(DstRule.Gap.SKIP, DstRule.Overlap.BOTH),
        OverlapRule.CANCEL_PREVIOUS,
        new CatchUp(CatchUp.Rule.ALL, 7, Duration.ofHours(5)),
        Duration.ofMillis(1_500),
        start,
        start.plus(Duration.ofDays(400)),
        9,
        4,
        new Schedule.TaskTemplate(
            "t",
            "k",
            3,
            "{\"a\": 1.0}",
            new Target.Http(
                "https://example.com/",
                "PUT",
                Map.of("A", "b", "C", "d"),
                "hello",
                Duration.ofSeconds(9)),
            RetryPolicy.DEFAULT));
  }

  private Schedules.Result in(Function<Tx, Schedules.Result> work) {
    return world.db.inTransaction(work);
  }

  private Schedules.Result put(
      Schedule schedule, @Nullable Boolean paused, Schedules.Expected expected) {
    return in(
        tx ->
            world
                .store
                .schedules()
                .put(tx, World.TENANT, new Schedules.Wanted(schedule, paused), "me", expected));
  }

  private StoredSchedule put(Schedule schedule) {
    return saved(put(schedule, null, ANY));
  }

  private static StoredSchedule saved(Schedules.Result result) {
    return ((Schedules.Result.Saved) result).schedule().stored();
  }

  private StoredSchedule find() {
    return world.store.schedules().find(World.TENANT, "n").orElseThrow();
  }

  /** Plans a fire like the planner. */
  private TaskId plan(StoredSchedule stored, Instant at) {
    TaskId id = TaskId.at(at, new Random(at.toEpochMilli()));
    NewTask task = World.task("t", new Target.Discard(), at);
    world.db.inTransaction(
        tx -> {
          world.tasks.createFired(tx, List.of(new Tasks.Fired(World.TENANT, id, "n", at, task)));
          return true;
        });
    record(stored, at, "'%s', '%s', NULL".formatted(id, id.partition().day()));
    world.sql(
        "UPDATE carillon.schedule SET runs = runs + 1, cursor = greatest(cursor, '%s')"
            .formatted(at));
    return id;
  }

  private void record(StoredSchedule stored, Instant at, String taskAndPartitionAndSkipped) {
    world.sql(
        """
        INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, task, partition, skipped)
        VALUES (%d, '%s', timestamptz '%s' AT TIME ZONE 'Europe/Berlin', 'NONE', 'SCHEDULED', %s)
        """
            .formatted(stored.id(), at, at, taskAndPartitionAndSkipped));
  }

  private Instant now() {
    return world.clock.instant().truncatedTo(ChronoUnit.MILLIS);
  }

  private List<String> actions() {
    return world
        .store
        .audit()
        .list(World.TENANT, new Audit.Filter(null, "n"), 100, null)
        .items()
        .stream()
        .map(Audit.Entry::action)
        .toList()
        .reversed();
  }

  @Test
  void a_new_schedule_fires_only_from_now_on() {
    Instant before = now();
    Instant start = Instant.parse("2020-01-01T00:20:00Z");

    StoredSchedule created = put(hourly(start, null));

    assertThat(created.schedule()).isEqualTo(hourly(start, null));
    assertThat(created.version()).isEqualTo(1);
    assertThat(created.anchor()).isEqualTo(start);
    assertThat(created.cursor()).isBetween(before, now().plusMillis(1));
    assertThat(created.planAt()).isEqualTo(created.cursor());
    assertThat(actions()).containsExactly("schedule.put");
  }

  @Test
  void intervals_count_from_the_start_or_the_second_of_creation() {
    StoredSchedule created = put(hourly(null, null));
    Instant start = now().plusSeconds(3_000);
    StoredSchedule started = put(hourly(start, null));
    StoredSchedule without = put(hourly(null, null));

    assertThat(created.anchor()).isEqualTo(created.createdAt().truncatedTo(ChronoUnit.SECONDS));
    assertThat(started.anchor()).isEqualTo(start);
    assertThat(without.anchor()).isEqualTo(created.anchor());
  }

  @Test
  void an_equal_definition_changes_nothing() {
    Schedule schedule = withEverything("30 2 * * *", now());
    StoredSchedule created = put(schedule);
    TaskId planned = plan(created, now().plusSeconds(20));
    AtomicInteger signals = new AtomicInteger();
    world.signals.scheduleSaved().add(signals::incrementAndGet);

    StoredSchedule again = put(schedule);
    put(schedule, false, ANY);

    assertThat(created.schedule()).isEqualTo(schedule);
    assertThat(again.version()).isEqualTo(1);
    assertThat(again.updatedAt()).isEqualTo(created.updatedAt());
    assertThat(again.generation()).isEqualTo(1);
    assertThat(world.state(planned)).isEqualTo(TaskState.PENDING);
    assertThat(signals).hasValue(0);
    assertThat(actions()).containsExactly("schedule.put");
  }

  @Test
  void a_change_withdraws_planned_tasks_but_not_due_ones() {
    Instant start = now();
    StoredSchedule created = put(withEverything("30 2 * * *", start));
    TaskId due = plan(created, now().minusSeconds(1));
    TaskId planned = plan(created, now().plusSeconds(20));
    AtomicInteger signals = new AtomicInteger();
    world.signals.scheduleSaved().add(signals::incrementAndGet);

    StoredSchedule changed = put(withEverything("30 3 * * *", start));

    assertThat(changed.version()).isEqualTo(2);
    assertThat(changed.generation()).isEqualTo(2);
    assertThat(changed.cursor()).isBeforeOrEqualTo(now());
    assertThat(changed.planAt()).isBeforeOrEqualTo(now());
    assertThat(changed.counters().runs()).isEqualTo(1);
    assertThat(world.state(planned)).isEqualTo(TaskState.CANCELLED);
    assertThat(world.state(due)).isEqualTo(TaskState.PENDING);
    assertThat(world.value("SELECT string_agg(task::text, ',') FROM carillon.schedule_fire"))
        .isEqualTo(due.toString());
    assertThat(signals).hasValue(1);
    assertThat(actions()).containsExactly("schedule.put", "schedule.put");
  }

  @Test
  void a_pause_withdraws_planned_tasks_and_a_resume_resets_failures() {
    StoredSchedule created = put(hourly(null, null));
    TaskId planned = plan(created, now().plusSeconds(20));
    world.sql("UPDATE carillon.schedule SET failures_in_a_row = 3");

    StoredSchedule paused =
        saved(
            in(
                tx ->
                    world
                        .store
                        .schedules()
                        .pause(tx, World.TENANT, "n", "moving", "me", Schedules.Expected.ANY)));
    StoredSchedule again =
        saved(
            in(
                tx ->
                    world
                        .store
                        .schedules()
                        .pause(tx, World.TENANT, "n", null, "you", Schedules.Expected.ANY)));
    StoredSchedule renamed =
        saved(
            in(
                tx ->
                    world
                        .store
                        .schedules()
                        .pause(tx, World.TENANT, "n", "moved", "you", Schedules.Expected.ANY)));
    StoredSchedule kept = put(hourly(null, null));
    StoredSchedule resumed =
        saved(
            in(
                tx ->
                    world
                        .store
                        .schedules()
                        .resume(tx, World.TENANT, "n", "me", Schedules.Expected.ANY)));
    StoredSchedule twice =
        saved(
            in(
                tx ->
                    world
                        .store
                        .schedules()
                        .resume(tx, World.TENANT, "n", "me", Schedules.Expected.ANY)));

    assertThat(world.state(planned)).isEqualTo(TaskState.CANCELLED);
    assertThat(pause(paused).reason()).isEqualTo("moving");
    assertThat(pause(paused).by()).isEqualTo("me");
    assertThat(paused.counters().runs()).isZero();
    assertThat(again).isEqualTo(paused);
    assertThat(pause(renamed).reason()).isEqualTo("moved");
    assertThat(kept).isEqualTo(renamed);
    assertThat(resumed.pause()).isNull();
    assertThat(resumed.counters().failuresInARow()).isZero();
    assertThat(twice).isEqualTo(resumed);
    assertThat(resumed.version()).isEqualTo(4);
    assertThat(actions())
        .containsExactly("schedule.put", "schedule.pause", "schedule.pause", "schedule.resume");
  }

  @Test
  void a_put_can_pause_and_resume() {
    StoredSchedule created = saved(put(hourly(null, null), true, ANY));
    StoredSchedule resumed = saved(put(hourly(null, null), false, ANY));
    StoredSchedule paused = saved(put(hourly(null, null), true, ANY));

    assertThat(pause(created).by()).isEqualTo("me");
    assertThat(created.version()).isEqualTo(1);
    assertThat(resumed.isPaused()).isFalse();
    assertThat(paused.isPaused()).isTrue();
    assertThat(paused.version()).isEqualTo(3);
  }

  @Test
  void a_change_with_a_stale_version_is_rejected() {
    put(hourly(null, null));
    Schedules.Expected first = new Schedules.Expected(true, 1);
    put(hourly(now().plusSeconds(60), null), null, first);

    assertThat(put(hourly(null, null), null, first))
        .isEqualTo(new Schedules.Result.StaleVersion(2));
    assertThat(in(tx -> world.store.schedules().delete(tx, World.TENANT, "n", "me", first)))
        .isEqualTo(new Schedules.Result.StaleVersion(2));
    assertThat(
            in(
                tx ->
                    world
                        .store
                        .schedules()
                        .delete(tx, World.TENANT, "n", "me", new Schedules.Expected(true, 2))))
        .isEqualTo(new Schedules.Result.Deleted());
    assertThat(put(hourly(null, null), null, new Schedules.Expected(true, null)))
        .isEqualTo(new Schedules.Result.StaleVersion(null));
    assertThat(world.store.schedules().find(World.TENANT, "n")).isEmpty();
  }

  @Test
  void deleting_withdraws_planned_tasks_and_recreating_starts_over() {
    StoredSchedule created = put(hourly(null, null));
    TaskId due = plan(created, now().minusSeconds(1));
    TaskId planned = plan(created, now().plusSeconds(20));

    in(tx -> world.store.schedules().delete(tx, World.TENANT, "n", "me", ANY));
    StoredSchedule again = put(hourly(null, null));

    assertThat(world.state(planned)).isEqualTo(TaskState.CANCELLED);
    assertThat(world.state(due)).isEqualTo(TaskState.PENDING);
    assertThat(again.id()).isNotEqualTo(created.id());
    assertThat(again.counters().runs()).isZero();
    assertThat(actions()).containsExactly("schedule.put", "schedule.delete", "schedule.put");
  }

  @Test
  void a_new_end_must_be_in_the_future() {
    Instant end = now().plusSeconds(3_600);
    put(hourly(null, end));
    world.sql("UPDATE carillon.schedule SET end_at = end_at - interval '2 h'");
    Instant past = end.minusSeconds(7_200);

    assertThat(put(hourly(null, past.minusSeconds(1)), null, ANY))
        .isEqualTo(new Schedules.Result.EndIsOver());
    assertThat(put(hourly(null, past.minusSeconds(1)), null, new Schedules.Expected(true, 0)))
        .as("with a stale version")
        .isEqualTo(new Schedules.Result.EndIsOver());
    assertThat(put(hourly(null, past)).version()).isEqualTo(1);
    assertThat(put(hourly(past.minusSeconds(60), past)).version()).isEqualTo(2);
  }

  @Test
  void an_ended_schedule_that_gets_a_new_end_catches_up_nothing() {
    put(hourly(null, now().plusSeconds(3_600)));
    world.sql(
        "UPDATE carillon.schedule SET end_at = now() - interval '30 d', plan_at = NULL,"
            + " cursor = now() - interval '30 d'");
    Instant before = now();

    StoredSchedule revived = put(hourly(null, null));

    assertThat(revived.cursor()).isAfterOrEqualTo(before);
    assertThat(revived.planAt()).isAfterOrEqualTo(before);
  }

  @Test
  void a_change_keeps_overdue_times() {
    put(hourly(null, null));
    world.sql(
        "UPDATE carillon.schedule SET cursor = now() - interval '1 d',"
            + " plan_at = now() - interval '1 d'");

    assertThat(put(hourly(null, now().plusSeconds(60))).cursor())
        .isBefore(now().minus(Duration.ofHours(23)));
  }

  @Test
  void a_trigger_creates_a_task_that_is_due_now_and_is_recorded() {
    StoredSchedule created = put(hourly(null, null));
    world.sql("UPDATE carillon.schedule SET plan_at = NULL");

    TaskView task =
        ((Schedules.Result.Triggered)
                in(tx -> world.store.schedules().trigger(tx, World.TENANT, "n", null, "me")))
            .task();

    assertThat(task.state()).isEqualTo(TaskState.PENDING);
    assertThat(task.dueAt()).isBeforeOrEqualTo(now().plusMillis(1));
    assertThat(task.spec().payload()).isEqualTo("{\"a\": 1.0}");
    assertThat(task.key()).isEqualTo("k");
    assertThat(task.priority()).isEqualTo(7);
    assertThat(task.scheduleName()).isEqualTo("n");
    assertThat(task.spec().concurrencyKey()).isEqualTo("carillon.schedule.n");
    RecordedFire fire = fires(null, 10, null).items().getFirst();
    assertThat(fire.kind()).isEqualTo(RecordedFire.Kind.TRIGGER);
    assertThat(fire.task()).isEqualTo(task.id());
    assertThat(fire.status()).isEqualTo("PENDING");
    assertThat(fire.time().at()).isEqualTo(task.dueAt());
    assertThat(world.value("SELECT fire_at = due_at FROM carillon.task")).isEqualTo("t");
    assertThat(find().planAt()).as("due for planning, so that the fire is settled").isNotNull();
    assertThat(find().version()).isEqualTo(created.version());
    assertThat(find().counters().runs()).isZero();
    assertThat(actions()).containsExactly("schedule.put", "schedule.trigger");
    assertThat(world.claimOne(world.node("a")).id()).isEqualTo(task.id());
  }

  @Test
  void simultaneous_triggers_have_distinct_times_between_nominal_times() {
    put(hourly(null, null));
    Instant whole = now().truncatedTo(ChronoUnit.SECONDS);
    Schedules fixed =
        new Schedules(
            world.db,
            world.catalog,
            world.tasks,
            InstantSource.fixed(whole),
            world.signals.scheduleSaved());

    for (int i = 0; i < 3; i++) {
      in(tx -> fixed.trigger(tx, World.TENANT, "n", "{}", "me"));
    }

    assertThat(fires(null, 10, null).items())
        .extracting(fire -> fire.time().at())
        .containsExactly(
            whole.plus(3, ChronoUnit.MICROS),
            whole.plus(2, ChronoUnit.MICROS),
            whole.plus(1, ChronoUnit.MICROS));
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE payload = '{}'"))
        .isEqualTo("3");
  }

  private Page<RecordedFire, RecordedFire.Position> fires(
      @Nullable Boolean hasTask, int limit, RecordedFire.@Nullable Position before) {
    return world
        .store
        .schedules()
        .fires(find(), new RecordedFire.Filter(hasTask, null, null), limit, before);
  }

  private List<RecordedFire> allFires(@Nullable Boolean hasTask, int limit) {
    List<RecordedFire> all = new ArrayList<>();
    Page<RecordedFire, RecordedFire.Position> page = fires(hasTask, limit, null);
    all.addAll(page.items());
    while (page.next() != null) {
      page = fires(hasTask, limit, page.next());
      all.addAll(page.items());
    }
    return all;
  }

  @Test
  void fires_are_listed_newest_first_in_pages_and_by_outcome() {
    StoredSchedule created = put(hourly(null, null));
    Instant first = now().truncatedTo(ChronoUnit.SECONDS).minusSeconds(100);
    List<TaskId> tasks = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      if (i % 3 == 0) {
        tasks.add(plan(created, first.plusSeconds(i)));
      } else {
        record(created, first.plusSeconds(i), "NULL, NULL, 'OVERLAP'");
      }
    }

    assertThat(allFires(null, 7))
        .hasSize(30)
        .isSortedAccordingTo((a, b) -> b.time().at().compareTo(a.time().at()));
    assertThat(allFires(true, 4))
        .extracting(RecordedFire::task)
        .containsExactlyElementsOf(tasks.reversed());
    assertThat(allFires(false, 20))
        .hasSize(20)
        .extracting(RecordedFire::skipped)
        .containsOnly(SkipReason.OVERLAP);
    assertThat(
            world
                .store
                .schedules()
                .fires(
                    created,
                    new RecordedFire.Filter(null, first.plusSeconds(3), first.plusSeconds(5)),
                    10,
                    null)
                .items())
        .extracting(fire -> fire.time().at())
        .containsExactly(first.plusSeconds(5), first.plusSeconds(4), first.plusSeconds(3));
    assertThat(fires(null, 1, null).items().getFirst().time().local())
        .isEqualTo(first.plusSeconds(29).atZone(BERLIN).toLocalDateTime());
  }

  private static StoredSchedule.Pause pause(StoredSchedule stored) {
    return Objects.requireNonNull(stored.pause());
  }

  private RecordedFire lastRun() {
    return Objects.requireNonNull(show().lastRun());
  }

  private ScheduleView show() {
    return world.store.schedules().show(World.TENANT, "n").orElseThrow();
  }

  @Test
  void the_last_run_and_the_previous_outcome_are_shown() {
    StoredSchedule created = put(hourly(null, null));
    assertThat(show().lastRun()).isNull();
    assertThat(show().previousOutcome()).isNull();

    TaskId first = plan(created, now().minusSeconds(50));
    assertThat(lastRun().task()).isEqualTo(first);
    assertThat(show().previousOutcome()).as("the outcome of a task that has not ended").isNull();

    world.sql("UPDATE carillon.task SET state = 'COMPLETED', ready_at = NULL");
    TaskId second = plan(created, now().minusSeconds(40));
    assertThat(lastRun().task()).isEqualTo(second);
    assertThat(lastRun().status()).isEqualTo("PENDING");
    assertThat(show().previousOutcome()).isEqualTo("COMPLETED");

    record(created, now().minusSeconds(30), "NULL, NULL, 'OVERLAP'");
    plan(created, now().plusSeconds(20));
    assertThat(lastRun().task()).isEqualTo(second);
    assertThat(show().previousOutcome()).isEqualTo("SKIPPED");

    world.sql("DELETE FROM carillon.schedule_fire WHERE skipped IS NOT NULL");
    world.sql("DELETE FROM carillon.task");
    world.sql("UPDATE carillon.schedule_fire SET outcome = 'DEAD' WHERE task = '" + second + "'");
    assertThat(lastRun().status()).isEqualTo("DEAD");
    assertThat(show().previousOutcome()).isEqualTo("DEAD");
  }

  @Test
  void schedules_are_listed_by_name_in_pages() {
    for (String name : List.of("c", "a", "b")) {
      Schedule schedule = hourly(null, null);
      put(
          new Schedule(
              name,
              schedule.cron(),
              schedule.every(),
              schedule.zone(),
              schedule.dst(),
              schedule.overlap(),
              schedule.catchUp(),
              schedule.jitter(),
              null,
              null,
              null,
              null,
              schedule.task()));
    }

    Page<StoredSchedule, String> first = world.store.schedules().list(World.TENANT, 2, null, false);
    Page<StoredSchedule, String> second =
        world.store.schedules().list(World.TENANT, 2, first.next(), true);

    assertThat(first.items()).extracting(each -> each.schedule().name()).containsExactly("a", "b");
    assertThat(second.items()).extracting(each -> each.schedule().name()).containsExactly("c");
    assertThat(second.next()).isNull();
    assertThat(first.items()).allMatch(each -> each.schedule().task().payload() == null);
    assertThat(second.items()).allMatch(each -> each.schedule().task().payload() != null);
  }

  @Test
  void a_strict_tenant_rejects_unknown_types() {
    world.sql("UPDATE carillon.tenant SET strict = true");
    world.catalog.refresh();

    assertThat(put(hourly(null, null), null, ANY)).isEqualTo(new Schedules.Result.UnknownType("t"));
    assertThat(world.value("SELECT count(*) FROM carillon.schedule")).isEqualTo("0");
  }
}
