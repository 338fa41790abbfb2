package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.schedule.FirePlan;
import carillon.model.schedule.FireSettlement;
import carillon.model.schedule.OverlapRule;
import carillon.store.db.Tx;
import carillon.store.schedules.Backfills.Request;
import carillon.store.schedules.Backfills.Result;
import carillon.testkit.Overlapping;
import carillon.testkit.ScheduleRows;
import carillon.testkit.World;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every nominal time gets exactly one task despite concurrent changes and crashes. */
@Tag("slow")
class BackfillRaceTest {

  private static final Instant TEN = Instant.parse("2025-10-01T10:00:00Z");

  private World world;
  private ScheduleRows scheduled;
  private long schedule;

  @BeforeEach
  void open() {
    world = World.create();
    scheduled = new ScheduleRows(world);
    schedule = scheduled.every("s", 1);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private UUID start(int from, int to) {
    var request = new Request(TEN.plusSeconds(from), TEN.plusSeconds(to), OverlapRule.QUEUE, false);
    return ((Result.Saved) scheduled.backfill("s", request)).backfill().id();
  }

  private String count(String table) {
    return world.value("SELECT count(*) FROM carillon." + table);
  }

  enum Step {
    STEP,
    STEP_OF_OVERLAPPING_BACKFILL,
    PLAN,
    STOP,
    DELETE
  }

  /** Makes the planner late with the schedule, with a rule that catches up everything. */
  private void makePlannerLate(int times) {
    world.sql(
        """
        UPDATE carillon.schedule
        SET cursor = '%s', plan_at = '%s', end_at = '%s', catch_up = 'ALL', catch_up_limit = 1000,
            catch_up_window_ms = 1000000000000
        """
            .formatted(TEN.minusSeconds(1), TEN, TEN.plusSeconds(times - 1)));
  }

  private DueSchedules.Step plan(Tx tx) {
    Instant now = world.clock.instant();
    return new DueSchedules(world.db, world.tasks)
        .plan(tx, now, 10, due -> due.stream().map(each -> decide(each, now)).toList());
  }

  private static DueSchedules.Planned decide(DueSchedules.Locked due, Instant now) {
    StoredSchedule stored = due.schedule();
    FireSettlement settlement =
        FireSettlement.of(due.unsettled(), stored.counters().failuresInARow(), stored.schedule());
    var state =
        new FirePlan.State(
            stored.id(),
            stored.generation(),
            stored.schedule(),
            stored.timetable(),
            stored.cursor(),
            stored.counters().runs(),
            stored.isPaused(),
            settlement.live());
    return new DueSchedules.Planned(due, settlement, FirePlan.of(state, now, 1_000));
  }

  private void run(Tx tx, Step step, UUID backfill, UUID other) {
    switch (step) {
      case STEP -> world.store.backfillSteps().take(tx, backfill);
      case STEP_OF_OVERLAPPING_BACKFILL -> world.store.backfillSteps().take(tx, other);
      case PLAN -> plan(tx);
      case STOP -> world.store.backfills().stop(tx, World.TENANT, "s", backfill, "me");
      case DELETE -> tx.update("DELETE FROM carillon.schedule WHERE id = ?", schedule);
    }
  }

  record Overlap(Step first, Step second, boolean commits) {}

  static Stream<Overlap> overlaps() {
    List<Overlap> overlaps = new ArrayList<>();
    for (Step first : Step.values()) {
      for (Step second : Step.values()) {
        if (first == Step.STEP || second == Step.STEP) {
          overlaps.add(new Overlap(first, second, true));
          overlaps.add(new Overlap(first, second, false));
        }
      }
    }
    return overlaps.stream();
  }

  @ParameterizedTest
  @MethodSource("overlaps")
  void overlapping_steps_leave_one_task_per_nominal_time(Overlap overlap)
      throws InterruptedException, ExecutionException {
    makePlannerLate(25);
    UUID backfill = start(0, 19);
    UUID other = start(5, 24);
    try (var overlapping = new Overlapping(world)) {
      overlapping.run(
          tx -> run(tx, overlap.first(), backfill, other),
          overlap.commits(),
          tx -> run(tx, overlap.second(), backfill, other));
    }
    List.of(backfill, other).forEach(world.store.backfillSteps()::take);

    assertThat(scheduled.countMismatches(schedule)).isEqualTo("0");
    assertThat(count("backfill WHERE state = 'RUNNING'")).isEqualTo("0");
    assertThat(count("backfill WHERE state = 'DONE' AND times <> created + existing + skipped"))
        .isEqualTo("0");
    boolean isStopped = isDone(overlap, Step.STOP) || isDone(overlap, Step.DELETE);
    if (!isStopped) {
      assertThat(count("task")).isEqualTo("25");
      assertThat(count("schedule_fire")).isEqualTo("25");
    }
  }

  private static boolean isDone(Overlap overlap, Step step) {
    return overlap.second() == step || (overlap.first() == step && overlap.commits());
  }

  @ParameterizedTest
  @ValueSource(strings = {"schedule_fire", "task", "schedule", "backfill"})
  void a_crash_between_two_statements_rolls_back_the_step(String table) {
    world.sql("CREATE SEQUENCE public.writes"); // a rollback does not reset it
    world.sql(
        """
        CREATE FUNCTION public.crash_at_first_write() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('public.writes') = 1 THEN
                PERFORM pg_terminate_backend(pg_backend_pid());
            END IF;
            RETURN NULL;
        END
        $$
        """);
    UUID backfill = start(0, 1_499);
    world.partitions.ensure(Partition.of(world.clock.instant()));
    world.sql(
        "CREATE TRIGGER crash AFTER INSERT OR UPDATE ON carillon."
            + table
            + " FOR EACH ROW EXECUTE FUNCTION public.crash_at_first_write()");

    while (!world.store.backfillSteps().take(backfill).isOver()) {
      assertThat(scheduled.countMismatches(schedule)).isEqualTo("0");
    }

    assertThat(world.value("SELECT last_value > 1 FROM public.writes")).isEqualTo("t");
    assertThat(scheduled.countMismatches(schedule)).isEqualTo("0");
    assertThat(count("task")).isEqualTo("1500");
    assertThat(
            world.value("SELECT created || ' ' || existing || ' ' || state FROM carillon.backfill"))
        .isEqualTo("1500 0 DONE");
  }

  private static final String DUPLICATES =
      "SELECT count(*) - count(DISTINCT fire_at) FROM carillon.task";

  @Test
  void concurrent_backfills_and_a_planner_leave_one_task_per_nominal_time()
      throws InterruptedException, ExecutionException {
    makePlannerLate(4_000);
    start(0, 2_999);
    start(1_000, 3_999);
    start(500, 3_499);
    try (ExecutorService threads = Executors.newFixedThreadPool(5)) {
      List<Future<?>> racers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        RandomGenerator random = RandomGeneratorFactory.getDefault().create(i);
        racers.add(
            threads.submit(
                () -> {
                  for (List<UUID> open = world.store.backfillSteps().open(10);
                      !open.isEmpty();
                      open = world.store.backfillSteps().open(10)) {
                    world.store.backfillSteps().take(open.get(random.nextInt(open.size())));
                  }
                }));
      }
      racers.add(
          threads.submit(
              () -> {
                while (world.db.inTransaction(this::plan).due() > 0) {
                  assertThat(world.value(DUPLICATES)).as("times with two tasks").isEqualTo("0");
                }
              }));
      for (Future<?> racer : racers) {
        racer.get();
      }
    }

    assertThat(scheduled.countMismatches(schedule)).isEqualTo("0");
    assertThat(count("task")).isEqualTo("4000");
    assertThat(count("schedule_fire")).isEqualTo("4000");
    assertThat(
            world.value(
                "SELECT string_agg((created + existing)::text, ' ' ORDER BY created_at) FROM"
                    + " carillon.backfill"))
        .isEqualTo("3000 3000 3000");
  }
}
