package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.testkit.World;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A task with a new target waits in the lane of that target. */
class RetargetingTest {

  private static final Target.Http HTTP =
      new Target.Http("https://example.com/x", "POST", Map.of(), null, null);

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
  }

  @AfterEach
  void close() {
    world.close();
  }

  private ChangeResult retarget(TaskId id, Target target) {
    TaskPatch patch = new TaskPatch(null, null, null, null, null, target);
    return world.db.inTransaction(
        tx -> world.tasks.patch(tx, World.TENANT, id, patch, "test", null));
  }

  private Route route(TaskId id) {
    return world.catalog.lane(world.find(id).lane().id()).route();
  }

  @Test
  void a_waiting_task_moves_to_the_lane_of_its_new_target() {
    TaskId id = world.create(World.task("t", null));
    assertThat(route(id)).isEqualTo(Route.TYPE);

    retarget(id, HTTP);
    assertThat(route(id)).isEqualTo(Route.PUSH);
    assertThat(world.find(id).spec().target()).isEqualTo(HTTP);

    retarget(id, new Target.Pull());
    assertThat(route(id)).isEqualTo(Route.PULL);
    assertThat(world.find(id).priority()).isEqualTo(5);

    retarget(id, new Target.Discard());
    assertThat(world.claimOne("node").target()).isEqualTo(new Target.Discard());
    assertThat(retarget(id, HTTP)).isInstanceOf(ChangeResult.WrongState.class);
  }

  @Test
  void a_dead_task_is_redriven_to_its_new_target() {
    TaskId id = world.create(World.task("t", HTTP));
    ClaimedTask claimed = world.claimOne("node");
    Failure failure = Failure.of(FailureKind.STATUS, "404");
    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(claimed, new Outcome.Dead(failure, false))),
            Set.of(claimed.lease().claim()),
            "node");

    retarget(id, new Target.Pull());
    assertThat(world.state(id)).isEqualTo(TaskState.DEAD);
    world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, id, "test", null));

    assertThat(route(id)).isEqualTo(Route.PULL);
    assertThat(world.find(id).readyAt()).isNotNull();
  }

  @Test
  void the_audit_log_names_the_changed_fields() {
    TaskId id = world.create(World.task("t", null));

    world.db.inTransaction(
        tx ->
            world.tasks.patch(
                tx,
                World.TENANT,
                id,
                new TaskPatch(null, 7, "\"secret\"", null, "k", HTTP),
                "test",
                null));

    assertThat(
            world.value(
                "SELECT detail->'fields' FROM carillon.audit WHERE action = 'task.edit' AND subject"
                    + " = '"
                    + id
                    + "'"))
        .isEqualTo("[\"priority\", \"payload\", \"key\", \"target\"]");
  }

  /**
   * A claim from a lane returns only tasks for that lane, and each task is claimed once, however
   * often it moves in the meantime.
   */
  @Test
  void tasks_moved_during_claims_are_claimed_once_from_the_right_lane()
      throws InterruptedException, ExecutionException {
    List<TaskId> ids =
        IntStream.range(0, 200)
            .mapToObj(i -> world.create(World.task("t", new Target.Pull())))
            .toList();
    Queue<ClaimedTask> claimed = new ConcurrentLinkedQueue<>();
    AtomicInteger moves = new AtomicInteger();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    BooleanSupplier isRunning = () -> claimed.size() < ids.size() && System.nanoTime() - end < 0;

    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> racers = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        Random random = new Random(i);
        racers.add(
            threads.submit(
                () -> {
                  while (isRunning.getAsBoolean()) {
                    TaskId id = ids.get(random.nextInt(ids.size()));
                    Target target = random.nextBoolean() ? new Target.Pull() : new Target.Discard();
                    if (retarget(id, target) instanceof ChangeResult.Changed) {
                      moves.incrementAndGet();
                    }
                  }
                }));
        racers.add(
            threads.submit(
                () -> {
                  while (isRunning.getAsBoolean()) {
                    claimed.addAll(world.claim("node", 1));
                  }
                }));
      }
      for (Future<?> racer : racers) {
        racer.get();
      }
    }

    assertThat(moves.get()).as("moves during the race").isGreaterThan(20);
    assertThat(claimed).extracting(ClaimedTask::id).containsExactlyInAnyOrderElementsOf(ids);
    assertThat(claimed)
        .allSatisfy(
            task ->
                assertThat(Route.of(task.target()))
                    .isEqualTo(world.catalog.lane(task.lane()).route()));
  }
}
