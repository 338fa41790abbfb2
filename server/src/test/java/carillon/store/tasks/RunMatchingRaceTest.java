package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.store.db.DbClock;
import carillon.store.db.Tx;
import carillon.store.queue.WorkQueue;
import carillon.testkit.Overlapping;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Bulk runs, which make matching tasks due now, race with claims, cancels and edits. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RunMatchingRaceTest {

  private static final TaskFilter ALL_OF_TYPE =
      new TaskFilter("t", null, null, null, null, null, null, Map.of());

  enum Step {
    CLAIM,
    CANCEL,
    CANCEL_MATCHING,
    POSTPONE,
    RUN_MATCHING
  }

  record Overlap(Step first, Step second, boolean commits) {}

  private World world;
  private Overlapping overlapping;

  @BeforeAll
  void open() {
    world = World.create();
    overlapping = new Overlapping(world);
    world.node("node");
  }

  @AfterAll
  void close() {
    overlapping.close();
    world.close();
  }

  @BeforeEach
  void empty() {
    world.sql("DELETE FROM carillon.task");
    world.sql("DELETE FROM carillon.claim");
  }

  private TaskId subject() {
    TaskId id = world.create(World.task("t", new Target.Pull()));
    world.sql("UPDATE carillon.task SET ready_at = clock_timestamp() - interval '1 s'");
    return id;
  }

  private void step(Tx tx, Step step, TaskId id) {
    switch (step) {
      case CLAIM -> claim(tx, id);
      case CANCEL -> world.tasks.cancel(tx, World.TENANT, id, "test", null);
      case CANCEL_MATCHING ->
          world.tasks.cancelMatching(tx, World.TENANT, ALL_OF_TYPE, null, "test");
      case POSTPONE ->
          world.tasks.patch(
              tx,
              World.TENANT,
              id,
              new TaskPatch(
                  world.clock.instant().plus(Duration.ofDays(1)), null, null, null, null, null),
              "test",
              null);
      case RUN_MATCHING -> run(tx);
    }
  }

  /** Uses a clock that is hours behind, so that due tasks, which may be claimed, seem not due. */
  private int run(Tx tx) {
    Instant hoursAgo = world.clock.instant().minus(Duration.ofHours(2));
    MatchingTasks matching = new MatchingTasks(new DbClock(() -> hoursAgo), world.agenda);
    return matching.run(tx, World.TENANT, ALL_OF_TYPE, null, "test").tasks();
  }

  private List<ClaimedTask> claim(Tx tx, TaskId id) {
    Lane lane = world.catalog.laneFor(World.TENANT, "t", 5, 0, Route.PULL);
    var quota = new WorkQueue.Quota(lane, 1, Instant.EPOCH);
    return world
        .store
        .queue()
        .claimForWorker(tx, id.partition(), quota, "worker", Duration.ofMinutes(1))
        .tasks();
  }

  static Stream<Overlap> overlaps() {
    List<Overlap> overlaps = new ArrayList<>();
    for (Step other : Step.values()) {
      for (boolean commits : new boolean[] {true, false}) {
        overlaps.add(new Overlap(Step.RUN_MATCHING, other, commits));
        overlaps.add(new Overlap(other, Step.RUN_MATCHING, commits));
      }
    }
    return overlaps.stream();
  }

  @ParameterizedTest
  @MethodSource("overlaps")
  void overlapping_steps_have_the_result_of_some_sequential_order(Overlap overlap)
      throws InterruptedException, ExecutionException {
    TaskId id = subject();

    overlapping.run(
        tx -> step(tx, overlap.first(), id),
        overlap.commits(),
        tx -> step(tx, overlap.second(), id));

    TaskView task = world.find(id);
    assertThat(legal(overlap)).as("%s", overlap).contains(task.state());
    assertThat(task.readyAt() != null).isEqualTo(task.state() == TaskState.PENDING);
    assertThat(task.fence()).isEqualTo(task.state() == TaskState.RUNNING ? 1 : 0);
  }

  private static Set<TaskState> legal(Overlap overlap) {
    Step last = overlap.second() == Step.RUN_MATCHING ? overlap.first() : overlap.second();
    boolean hasHappened = overlap.commits() || last == overlap.second();
    return switch (last) {
      case CANCEL, CANCEL_MATCHING -> Set.of(hasHappened ? TaskState.CANCELLED : TaskState.PENDING);
      case POSTPONE, RUN_MATCHING -> Set.of(TaskState.PENDING);
      case CLAIM ->
          // A claim that starts second skips tasks that another transaction has locked.
          overlap.first() == Step.CLAIM
              ? Set.of(hasHappened ? TaskState.RUNNING : TaskState.PENDING)
              : Set.of(TaskState.PENDING, TaskState.RUNNING);
    };
  }

  @Test
  void a_bulk_run_waits_for_a_claim_in_progress_and_skips_its_task()
      throws InterruptedException, ExecutionException {
    TaskId id = subject();

    int run =
        overlapping.runWaiting(
            tx -> assertThat(claim(tx, id)).hasSize(1), () -> world.db.inTransaction(this::run));

    assertThat(run).isZero();
    assertThat(world.find(id).state()).isEqualTo(TaskState.RUNNING);
  }

  @Test
  void concurrent_runs_claims_and_cancels_neither_lose_nor_repeat_tasks()
      throws InterruptedException, ExecutionException {
    int tasks = 300;
    Instant later = world.clock.instant().plus(Duration.ofHours(1));
    world.db.inTransaction(
        tx ->
            world.tasks.createAll(
                tx,
                World.TENANT,
                IntStream.range(0, tasks)
                    .mapToObj(_ -> World.task("t", new Target.Discard(), later))
                    .toList()));
    world.catalog.refresh();
    List<ClaimedTask> claimed;
    try (ExecutorService threads = Executors.newFixedThreadPool(6)) {
      Future<Integer> run = threads.submit(() -> bulk(Step.RUN_MATCHING));
      Future<Integer> again = threads.submit(() -> bulk(Step.RUN_MATCHING));
      List<Future<List<ClaimedTask>>> claims =
          Stream.generate(() -> threads.submit(() -> world.claimKnown("node", 100)))
              .limit(6)
              .toList();
      Future<Integer> cancelled = threads.submit(() -> bulk(Step.CANCEL_MATCHING));
      run.get();
      again.get();
      cancelled.get();
      claimed = new ArrayList<>();
      for (Future<List<ClaimedTask>> claim : claims) {
        claimed.addAll(claim.get());
      }
    }

    Set<TaskId> distinct = claimed.stream().map(ClaimedTask::id).collect(Collectors.toSet());
    assertThat(distinct).hasSameSizeAs(claimed);
    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.every_task WHERE state = 'RUNNING' AND fence = 1"))
        .isEqualTo(String.valueOf(claimed.size()));
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("" + tasks);
    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.every_task WHERE (state = 'PENDING') <> (ready_at IS"
                    + " NOT NULL) OR fence > 1"))
        .isEqualTo("0");
  }

  private int bulk(Step step) {
    return world
        .db
        .inTransaction(
            tx ->
                step == Step.RUN_MATCHING
                    ? world.tasks.runMatching(tx, World.TENANT, ALL_OF_TYPE, null, "test")
                    : world.tasks.cancelMatching(tx, World.TENANT, ALL_OF_TYPE, null, "test"))
        .tasks();
  }
}
