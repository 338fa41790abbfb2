package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.Outcome;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.store.db.Tx;
import carillon.store.queue.HeldClaims;
import carillon.store.queue.PullQueue;
import carillon.store.queue.WorkQueue;
import carillon.store.queue.WorkReport;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import carillon.testkit.Overlapping;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs the steps that can happen to one task in every order and compares the database with a small
 * model: all 720 orders in sequence, and all pairs in which the second step starts while the first
 * one is uncommitted. Reports, renewals and releases come from the "old" holder, whose claim was
 * made before the steps begin; a claim makes a new holder.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class InterleavingTest {

  enum Step {
    CLAIM,
    FINISH,
    FINISH_WITH_OUTPUT,
    RENEW,
    RELEASE,
    REAP,
    CANCEL
  }

  /** The situation of the task before the first step. */
  enum Start {
    WAITING,
    HELD,
    LAPSED,
    LAPSED_AND_CANCEL_REQUESTED
  }

  /** The expected task, and how each step changes it. */
  record Model(
      TaskState state, boolean heldByOld, boolean lapsed, boolean cancelRequested, int fence) {

    static Model of(Start start) {
      return switch (start) {
        case WAITING -> new Model(TaskState.PENDING, false, false, false, 0);
        case HELD -> new Model(TaskState.RUNNING, true, false, false, 1);
        case LAPSED -> new Model(TaskState.RUNNING, true, true, false, 1);
        case LAPSED_AND_CANCEL_REQUESTED -> new Model(TaskState.RUNNING, true, true, true, 1);
      };
    }

    Model after(Step step) {
      return switch (step) {
        case CLAIM ->
            state == TaskState.PENDING
                ? new Model(TaskState.RUNNING, false, false, cancelRequested, fence + 1)
                : this;
        case FINISH, FINISH_WITH_OUTPUT -> heldByOld ? ended(TaskState.COMPLETED) : this;
        case RENEW -> heldByOld ? new Model(state, true, false, cancelRequested, fence) : this;
        case RELEASE -> heldByOld ? released() : this;
        case REAP -> state == TaskState.RUNNING && lapsed ? released() : this;
        case CANCEL ->
            switch (state) {
              case PENDING -> ended(TaskState.CANCELLED);
              case RUNNING -> new Model(state, heldByOld, lapsed, true, fence);
              case COMPLETED, DEAD, CANCELLED, EXPIRED -> this;
            };
      };
    }

    private Model released() {
      return ended(cancelRequested ? TaskState.CANCELLED : TaskState.PENDING);
    }

    private Model ended(TaskState next) {
      return new Model(next, false, false, cancelRequested, fence);
    }

    /** The part that is visible in the row. */
    String visible() {
      return state
          + " fence="
          + fence
          + (state.isLive() ? " cancelRequested=" + cancelRequested : "");
    }
  }

  private World world;
  private Overlapping overlapping;

  @BeforeAll
  void open() {
    world = World.create();
    overlapping = new Overlapping(world);
  }

  @AfterAll
  void close() {
    overlapping.close();
    world.close();
  }

  /** The only task in the database, and the lease of the old holder, if there is one. */
  private record Subject(TaskId id, Lane lane, @Nullable Lease old) {}

  private Subject subject(Start start) {
    world.sql("DELETE FROM carillon.task");
    world.sql("DELETE FROM carillon.claim");

    TaskId id = world.create(World.task("t", new Target.Pull()));
    Lane lane = world.catalog.laneFor(World.TENANT, "t", 5, 0, Route.PULL);
    makeReady(id);
    if (start == Start.WAITING) {
      return new Subject(id, lane, null);
    }
    ClaimedTask held = world.db.inTransaction(tx -> claim(tx, id, lane)).getFirst();
    if (start != Start.HELD) {
      world.sql(
          "UPDATE carillon.task SET lease_until = now() - interval '1 s' WHERE id = '" + id + "'");
      world.sql(
          "UPDATE carillon.claim SET lease_until = now() - interval '1 s' WHERE id = '"
              + held.lease().claim()
              + "'");
    }
    if (start == Start.LAPSED_AND_CANCEL_REQUESTED) {
      world.cancel(id);
    }
    return new Subject(id, lane, held.lease());
  }

  /** A new task is ready up to a millisecond after it is due, because bursts are spread. */
  private void makeReady(TaskId id) {
    world.sql("UPDATE carillon.task SET ready_at = now() - interval '1 s' WHERE id = '" + id + "'");
  }

  private List<ClaimedTask> claim(Tx tx, TaskId id, Lane lane) {
    var quota = new WorkQueue.Quota(lane, 1, Instant.EPOCH, Duration.ofMinutes(1));
    return world.store.queue().claimForWorker(tx, id.partition(), quota, "worker").tasks();
  }

  private void run(Tx tx, Step step, Subject subject) {
    Lease old = subject.old() == null ? new Lease(0, new UUID(0, 0)) : subject.old();
    TaskId id = subject.id();
    switch (step) {
      case CLAIM -> claim(tx, id, subject.lane());
      case FINISH -> report(tx, id, old, WorkReport.Kind.COMPLETED, null);
      case FINISH_WITH_OUTPUT -> report(tx, id, old, WorkReport.Kind.COMPLETED, "output");
      case RELEASE -> report(tx, id, old, WorkReport.Kind.RELEASED, null);
      case RENEW ->
          world
              .store
              .pullQueue()
              .renew(
                  tx,
                  World.TENANT,
                  List.of(new PullQueue.Renewal(id, old)),
                  _ -> true,
                  Duration.ofMinutes(1));
      case REAP -> reap(tx, id);
      case CANCEL -> world.tasks.cancel(tx, World.TENANT, id, "test", null);
    }
  }

  /** A result with an output is written by a different statement than one without. */
  private void report(
      Tx tx, TaskId id, Lease lease, WorkReport.Kind kind, @Nullable String output) {
    world
        .store
        .pullQueue()
        .report(
            tx,
            World.TENANT,
            List.of(new WorkReport(id, lease, kind, output, null, null, null)),
            List.of(),
            "worker");
  }

  private void reap(Tx tx, TaskId id) {
    for (HeldClaims.Lost lost : world.store.claims().lapsed(10)) {
      world
          .store
          .claims()
          .reap(
              tx,
              lost,
              (held, _) -> {
                assertThat(held.id()).isEqualTo(id);
                return new Outcome.RetryAt(
                    Instant.now().minusSeconds(1), Failure.of(FailureKind.LEASE_LOST, "lost"));
              });
    }
  }

  /** All orders of the steps, with one of the two ways to finish. */
  private static Stream<List<Step>> allOrders(Step finish) {
    Set<Step> steps = EnumSet.complementOf(EnumSet.of(Step.FINISH, Step.FINISH_WITH_OUTPUT));
    steps.add(finish);
    return permutations(new ArrayList<>(), steps);
  }

  private static Stream<List<Step>> permutations(List<Step> done, Set<Step> left) {
    return left.isEmpty()
        ? Stream.of(done)
        : left.stream()
            .flatMap(
                step -> {
                  List<Step> longer = new ArrayList<>(done);
                  longer.add(step);
                  Set<Step> fewer = EnumSet.copyOf(left);
                  fewer.remove(step);
                  return permutations(longer, fewer);
                });
  }

  /**
   * Leaves out two starts that add little: without an old holder most steps do nothing, and with a
   * cancel requested beforehand the task ends the same way.
   */
  @ParameterizedTest
  @CsvSource({"HELD, FINISH", "LAPSED, FINISH", "LAPSED, FINISH_WITH_OUTPUT"})
  void steps_in_sequence_match_the_model_in_every_order(Start start, Step finish) {
    int orders = 0;
    for (List<Step> order : allOrders(finish).toList()) {
      Subject subject = subject(start);
      orders++;
      Model model = Model.of(start);
      for (Step step : order) {
        runAlone(step, subject);
        model = model.after(step);
        assertThat(visible(subject.id()))
            .as("%s, %s up to %s", start, order, step)
            .isEqualTo(model.visible());
      }
      assertTransitionsAreLegal(subject.id());
    }
    assertThat(orders).isEqualTo(720);
  }

  private String visible(TaskId id) {
    TaskView task = world.find(id);
    return task.state()
        + " fence="
        + task.fence()
        + (task.state().isLive() ? " cancelRequested=" + task.cancelRequested() : "");
  }

  /**
   * Every recorded transition is allowed by TaskState and starts in the state where the one before
   * it ended; fences never fall.
   */
  private void assertTransitionsAreLegal(TaskId id) {
    TaskStory story = world.tasks.story(World.TENANT, id).orElseThrow();
    TaskState state = TaskState.PENDING;
    int fence = 0;
    for (TaskStory.Transition transition : story.transitions()) {
      assertThat(transition.from()).as("%s", story.transitions()).isEqualTo(state);
      assertThat(state.canBecome(transition.to())).as("%s", transition).isTrue();
      assertThat(transition.fence()).isGreaterThanOrEqualTo(fence);
      state = transition.to();
      fence = transition.fence();
    }
    assertThat(story.task().state()).isEqualTo(state);
  }

  record Overlap(Start start, Step first, Step second, boolean commits) {}

  static Stream<Overlap> overlaps() {
    List<Overlap> overlaps = new ArrayList<>();
    for (Start start : Start.values()) {
      for (Step first : Step.values()) {
        for (Step second : Step.values()) {
          overlaps.add(new Overlap(start, first, second, true));
          overlaps.add(new Overlap(start, first, second, false));
        }
      }
    }
    return overlaps.stream();
  }

  @ParameterizedTest
  @MethodSource("overlaps")
  void overlapping_steps_have_the_result_of_some_sequential_order(Overlap overlap)
      throws InterruptedException, ExecutionException {
    Subject subject = subject(overlap.start());
    overlapping.run(
        tx -> run(tx, overlap.first(), subject),
        overlap.commits(),
        tx -> run(tx, overlap.second(), subject));
    if (overlap.second() == Step.REAP) {
      runAlone(Step.REAP, subject); // the reaper leaves locked tasks to its next pass
    }

    Model start = Model.of(overlap.start());
    List<Model> legal = new ArrayList<>();
    Model afterFirst = overlap.commits() ? start.after(overlap.first()) : start;
    legal.add(afterFirst.after(overlap.second()));
    if (overlap.commits()) {
      legal.add(start.after(overlap.second()).after(overlap.first()));
    }
    if (overlap.second() == Step.CLAIM) {
      legal.add(afterFirst); // a claim skips tasks that another transaction has locked
    }
    assertThat(legal).as("%s", overlap).extracting(Model::visible).contains(visible(subject.id()));
    assertTransitionsAreLegal(subject.id());
  }

  private void runAlone(Step step, Subject subject) {
    world.db.inTransaction(
        tx -> {
          run(tx, step, subject);
          return true;
        });
  }
}
