package carillon.store.deadletters;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.task.Lane;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.store.db.Tx;
import carillon.store.queue.WorkQueue;
import carillon.testkit.DeadTasks;
import carillon.testkit.Overlapping;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs every pair of steps that can happen to a task that is about to be redriven, or whose redrive
 * is about to be undone. The second step starts while the first one is uncommitted; the result must
 * be that of some sequential order.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RedriveRaceTest {

  private static final int FENCE = 5;

  enum Step {
    REDRIVE,
    REDRIVE_BY_HAND,
    PURGE,
    UNDO,
    CLAIM,
    CANCEL
  }

  /** A dead task with a redrive about to start, or a redriven one with an undo about to start. */
  enum Start {
    DEAD,
    REDRIVE;

    private List<Step> steps() {
      return switch (this) {
        case DEAD -> List.of(Step.REDRIVE, Step.REDRIVE_BY_HAND, Step.PURGE);
        case REDRIVE -> List.of(Step.UNDO, Step.CLAIM, Step.CANCEL);
      };
    }
  }

  /**
   * The expected task, and the effect of each step on it.
   *
   * @param state null once it is purged
   */
  record Model(Optional<TaskState> state, int fence) {

    static Model of(Start start) {
      return new Model(
          Optional.of(start == Start.DEAD ? TaskState.DEAD : TaskState.PENDING), FENCE);
    }

    Model after(Step step) {
      boolean isDead = state.equals(Optional.of(TaskState.DEAD));
      boolean isPending = state.equals(Optional.of(TaskState.PENDING));
      return switch (step) {
        case REDRIVE, REDRIVE_BY_HAND -> isDead ? in(TaskState.PENDING, FENCE) : this;
        case PURGE -> isDead ? new Model(Optional.empty(), 0) : this;
        case UNDO -> isPending && fence == FENCE ? in(TaskState.DEAD, FENCE) : this;
        case CLAIM -> isPending ? in(TaskState.RUNNING, fence + 1) : this;
        case CANCEL -> isPending ? in(TaskState.CANCELLED, fence) : this;
      };
    }

    private static Model in(TaskState state, int fence) {
      return new Model(Optional.of(state), fence);
    }

    /** The state, the fence, the attempts in its history, and whether there is a dead letter. */
    String visible() {
      boolean isDead = state.equals(Optional.of(TaskState.DEAD));
      return state
          .map(s -> s + " " + fence + " " + (isDead ? 0 : 1) + " " + (isDead ? 1 : 0))
          .orElse("gone");
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

  private record Subject(TaskId id, Lane lane, Redrives.Open redrive) {}

  private Subject subject(Start start) {
    for (String table : List.of("dead_letter", "task", "attempt", "claim", "redriven", "redrive")) {
      world.sql("DELETE FROM carillon." + table);
    }
    DeadTasks.fill(world, 1, 1);
    TaskId id = new TaskId(UUID.fromString(world.value("SELECT task FROM carillon.dead_letter")));
    Redrive redrive =
        world.db.inTransaction(
            tx ->
                world
                    .store
                    .redrives()
                    .start(tx, World.TENANT, DeadLetterFilter.ALL, 10_000, "r")
                    .orElseThrow());
    var open = new Redrives.Open(World.TENANT, redrive.id());
    if (start == Start.REDRIVE) {
      world.store.redrives().step(open);
      world.db.inTransaction(
          tx -> world.store.redrives().undo(tx, World.TENANT, redrive.id(), "u"));
      world.sql(
          "UPDATE carillon.task SET ready_at = now() - interval '1 s' WHERE ready_at IS NOT NULL");
    }
    return new Subject(id, world.catalog.laneFor(World.TENANT, "t0", 5, 0, Route.PULL), open);
  }

  private void run(Tx tx, Step step, Subject subject) {
    TaskId id = subject.id();
    switch (step) {
      case REDRIVE, UNDO -> world.store.redrives().step(tx, subject.redrive());
      case REDRIVE_BY_HAND -> world.tasks.redrive(tx, World.TENANT, id, "me", null);
      case PURGE -> world.store.deadLetters().purge(tx, World.TENANT, DeadLetterFilter.ALL, "me");
      case CLAIM ->
          world
              .store
              .queue()
              .claimForWorker(
                  tx,
                  id.partition(),
                  new WorkQueue.Quota(subject.lane(), 1, Instant.EPOCH),
                  "worker",
                  Duration.ofMinutes(1));
      case CANCEL -> world.tasks.cancel(tx, World.TENANT, id, "test", null);
    }
  }

  record Overlap(Start start, Step first, Step second, boolean commits) {}

  static Stream<Overlap> overlaps() {
    List<Overlap> overlaps = new ArrayList<>();
    for (Start start : Start.values()) {
      for (Step first : start.steps()) {
        for (Step second : start.steps()) {
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

    Model start = Model.of(overlap.start());
    Model afterFirst = overlap.commits() ? start.after(overlap.first()) : start;
    List<Model> legal = new ArrayList<>(List.of(afterFirst.after(overlap.second())));
    if (overlap.commits()) {
      legal.add(start.after(overlap.second()).after(overlap.first()));
    }
    if (overlap.second() == Step.CLAIM) {
      legal.add(afterFirst); // a claim skips tasks that another transaction has locked
    }
    assertThat(legal).as("%s", overlap).extracting(Model::visible).contains(visible(subject.id()));
    assertThat(world.value("SELECT sum(letters) FROM carillon.dead_letter_group"))
        .isEqualTo(world.value("SELECT count(*) FROM carillon.dead_letter"));
    assertThat(world.value("SELECT refused FROM carillon.redrive")).isEqualTo("0");
  }

  private String visible(TaskId id) {
    Map<String, String> tables =
        Map.of(
            "attempt", world.value("SELECT count(*) FROM carillon.attempt"),
            "dead_letter", world.value("SELECT count(*) FROM carillon.dead_letter"));
    return world
        .tasks
        .find(World.TENANT, id)
        .map(
            task ->
                task.state()
                    + " "
                    + task.fence()
                    + " "
                    + tables.get("attempt")
                    + " "
                    + tables.get("dead_letter"))
        .orElse("gone");
  }
}
