package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.store.queue.Agenda;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ChangingTest {

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

  private TaskView patch(TaskId id, TaskPatch patch) {
    ChangeResult result =
        world.db.inTransaction(tx -> world.tasks.patch(tx, World.TENANT, id, patch, "test", null));
    return ((ChangeResult.Changed) result).task();
  }

  @Test
  void postponing_a_task_beyond_its_expiry_postpones_the_expiry() {
    NewTask task =
        TestTask.of("t")
            .delay(Duration.ofSeconds(60))
            .target(new Target.Pull())
            .ttl(Duration.ofSeconds(10))
            .build();
    TaskId id = world.create(task);
    Instant later = world.clock.instant().plusSeconds(5 * 86_400).truncatedTo(ChronoUnit.MICROS);

    TaskView patched = patch(id, new TaskPatch(later, null, null, null, null, null));

    assertThat(patched.dueAt()).isEqualTo(later);
    assertThat(patched.expiresAt()).isEqualTo(later.plusSeconds(10));
  }

  @Test
  void a_postponed_dead_task_is_redriven_for_its_new_due_time_without_expiry() {
    NewTask task = TestTask.of("t").target(new Target.Discard()).ttl(Duration.ofHours(1)).build();
    TaskId id = world.create(task);
    ClaimedTask claimed = world.claimOne("node");
    Failure failure = Failure.of(FailureKind.STATUS, "404");
    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(claimed, new Outcome.Dead(failure, false))),
            Set.of(claimed.lease().claim()),
            "node");
    Instant tomorrow = world.clock.instant().plusSeconds(86_400).truncatedTo(ChronoUnit.MICROS);
    patch(id, new TaskPatch(tomorrow, null, null, null, null, null));

    ChangeResult redriven =
        world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, id, "test", null));

    assertThat(redriven)
        .isInstanceOfSatisfying(
            ChangeResult.Changed.class,
            changed -> {
              assertThat(changed.task().readyAt()).isEqualTo(tomorrow);
              assertThat(changed.task().expiresAt()).isNull();
              assertThat(changed.task().attempt()).isZero();
            });
  }

  @Test
  void a_sweep_finds_a_task_far_ahead_that_is_made_due_now() {
    Instant nextMonth = world.clock.instant().plusSeconds(30 * 86_400L);
    TaskId id = world.create(World.task("t", new Target.Discard(), nextMonth));
    world.db.inTransaction(tx -> world.tasks.runNow(tx, World.TENANT, id, "test", null));

    try (World other = world.anotherProcess()) { // another process, which got no hint
      other.sweep();

      assertThat(other.agenda.takeDue(other.clock.instant(), _ -> true))
          .extracting(Agenda.Entry::partition)
          .containsExactly(id.partition());
    }
  }

  @Test
  void a_new_partition_far_ahead_is_swept_once_and_then_rarely() {
    Instant nextMonth = world.clock.instant().plusSeconds(30 * 86_400L);
    try (World other = world.anotherProcess()) {
      other.sweep(); // the first sweep reads all partitions
      TaskId first = world.create(World.task("t", new Target.Discard(), nextMonth));
      TaskId second = world.create(World.task("t", new Target.Discard(), nextMonth));
      world.create(World.task("waits", new Target.Discard(), nextMonth));
      world.db.inTransaction(tx -> world.tasks.runNow(tx, World.TENANT, first, "test", null));

      assertThat(sweptPartitions(other))
          .as("partitions in the first sweep")
          .containsExactly(first.partition());
      world.cancel(first);
      world.sql("UPDATE carillon.task SET ready_at = now() WHERE id = '%s'".formatted(second));
      for (int sweep = 2; sweep < 10; sweep++) {
        assertThat(sweptPartitions(other))
            .as("partitions in sweep %d, without a hint", sweep)
            .isEmpty();
      }
      assertThat(sweptPartitions(other))
          .as("partitions in a full sweep")
          .containsExactly(first.partition());
    }
  }

  private static List<Partition> sweptPartitions(World world) {
    world.sweep();
    return world.agenda.takeDue(world.clock.instant(), _ -> true).stream()
        .map(Agenda.Entry::partition)
        .toList();
  }
}
