package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import carillon.model.schedule.FirePlan;
import carillon.model.schedule.FireSettlement;
import carillon.model.task.Lane;
import carillon.model.task.Route;
import carillon.store.db.Tx;
import carillon.store.queue.WorkQueue;
import carillon.store.tasks.TaskCancels;
import carillon.testkit.Overlapping;
import carillon.testkit.TestSchedule;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs every pair of operations on a planned fire, the second starting while the first is
 * uncommitted, and then the planner. No nominal time may be lost or have two tasks. The planners do
 * not check leadership here, because leadership only saves work.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class PlannerInterleavingTest {

  enum Step {
    PLAN,
    /** Plans with an outdated time, like a node that was suspended. */
    PLAN_LATE,
    WITHDRAW,
    PAUSE,
    CLAIM,
    CANCEL
  }

  private World world;
  private DueSchedules dueSchedules;
  private Overlapping overlapping;
  private Instant start;
  private long id;

  @BeforeAll
  void open() {
    world = World.create();
    dueSchedules = new DueSchedules(world.db, world.tasks);
    overlapping = new Overlapping(world);
    start = world.clock.instant().truncatedTo(ChronoUnit.DAYS).minus(Duration.ofDays(2));
  }

  @AfterAll
  void close() {
    overlapping.close();
    world.close();
  }

  /** Fires every ten seconds from the start. */
  private final Timetable tens =
      after -> {
        long passed = Duration.between(start, after).dividedBy(Duration.ofSeconds(10));
        Instant at = start.plusSeconds(10 * (passed + 1));
        return List.of(
            new NominalTime(
                at, LocalDateTime.ofInstant(at, ZoneOffset.UTC), NominalTime.Shift.NONE));
      };

  private List<DueSchedules.Planned> decide(List<DueSchedules.Locked> due, Instant now) {
    return due.stream()
        .map(
            each -> {
              StoredSchedule stored = each.schedule();
              FireSettlement settlement =
                  FireSettlement.of(
                      each.unsettled(), stored.counters().failuresInARow(), stored.schedule());
              var state =
                  new FirePlan.State(
                      stored.id(),
                      stored.generation(),
                      stored.schedule(),
                      tens,
                      stored.cursor(),
                      stored.counters().runs(),
                      stored.isPaused(),
                      settlement.live());
              return new DueSchedules.Planned(each, settlement, FirePlan.of(state, now, 1_000));
            })
        .toList();
  }

  private DueSchedules.Step plan(Tx tx, Instant now) {
    return dueSchedules.plan(tx, now, 10, due -> decide(due, now));
  }

  private void planAt(long seconds) {
    Instant now = start.plusSeconds(seconds);
    for (int due = 1; due > 0; ) {
      due = world.db.inTransaction(tx -> plan(tx, now)).due();
    }
  }

  /** Plans three tasks, for seconds 10, 20 and 30; the next planning is due at 10. */
  private void planThree() {
    world.sql(
        "TRUNCATE carillon.task, carillon.queue, carillon.transition, carillon.schedule_fire,"
            + " carillon.schedule");
    world.sql("DELETE FROM carillon.claim");
    id =
        TestSchedule.every("s", Duration.ofSeconds(10))
            .with("target", "{\"pull\": {}}")
            .insert(world, start);
    planAt(0);
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("3");
  }

  private void run(Tx tx, Step step) {
    switch (step) {
      case PLAN -> plan(tx, start.plusSeconds(10));
      case PLAN_LATE -> plan(tx, start.plusSeconds(3));
      case WITHDRAW -> withdraw(tx, false);
      case PAUSE -> withdraw(tx, true);
      case CLAIM -> claim(tx);
      case CANCEL -> world.tasks.cancel(tx, World.TENANT, first(), "test", null);
    }
  }

  private void withdraw(Tx tx, boolean pauses) {
    tx.query("SELECT id FROM carillon.schedule WHERE id = ? FOR UPDATE", row -> true, id);
    tx.update("UPDATE carillon.schedule SET paused = ? WHERE id = ?", pauses, id);
    PlannedTaskWithdrawals.withdraw(
        tx, id, World.TENANT, start.plusSeconds(5), new TaskCancels.Because("test", "changed"));
  }

  private void claim(Tx tx) {
    Lane lane = world.catalog.laneFor(World.TENANT, "t", 5, 0, Route.PULL);
    var quota = new WorkQueue.Quota(lane, 1, Instant.EPOCH);
    world
        .store
        .queue()
        .claimForWorker(tx, Partition.of(start), quota, "worker", Duration.ofMinutes(1));
  }

  /** The task of second 10. */
  private TaskId first() {
    return TaskId.parse(world.value("SELECT min(id::text) FROM carillon.task")).orElseThrow();
  }

  record Pair(Step first, Step second, boolean commits) {}

  static Stream<Pair> pairs() {
    List<Pair> pairs = new ArrayList<>();
    for (Step first : Step.values()) {
      for (Step second : Step.values()) {
        pairs.add(new Pair(first, second, true));
        pairs.add(new Pair(first, second, false));
      }
    }
    return pairs.stream();
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void no_fire_is_lost_or_duplicated(Pair pair) throws InterruptedException, ExecutionException {
    planThree();

    overlapping.run(tx -> run(tx, pair.first()), pair.commits(), tx -> run(tx, pair.second()));
    planAt(12);
    planAt(65);

    assertThat(
            world.value(
                "SELECT string_agg(extract(epoch FROM at - '"
                    + start
                    + "')::int::text, ' ' ORDER BY at) FROM carillon.schedule_fire WHERE at <= '"
                    + start.plusSeconds(60)
                    + "'"))
        .as("nominal times with a fire")
        .isEqualTo("10 20 30 40 50 60");
    assertThat(
            world.value(
                """
                SELECT count(*)
                FROM carillon.schedule_fire f
                WHERE f.task IS NOT NULL
                  AND NOT EXISTS (SELECT FROM carillon.task t WHERE t.id = f.task AND t.fire_at = f.at)
                """))
        .as("fires without their task")
        .isEqualTo("0");
    assertThat(
            world.value(
                """
                SELECT count(*)
                FROM carillon.task t
                WHERE NOT EXISTS (SELECT FROM carillon.schedule_fire f WHERE f.task = t.id)
                  AND NOT EXISTS (SELECT FROM carillon.transition w WHERE w.task = t.id AND w.reason = 'changed')
                """))
        .as("tasks that have no fire and were not withdrawn")
        .isEqualTo("0");
    assertThat(
            world.value(
                """
                SELECT s.runs = count(f.task) AND s.skipped_paused = count(f.skipped)
                FROM carillon.schedule s
                JOIN carillon.schedule_fire f ON f.schedule = s.id
                GROUP BY s.id
                """))
        .as("counters")
        .isEqualTo("t");
    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.task t JOIN carillon.transition w ON w.task = t.id"
                    + " AND w.reason = 'changed' WHERE t.fence > 0"))
        .as("started tasks that were withdrawn")
        .isEqualTo("0");
  }
}
