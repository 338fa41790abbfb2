package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.TaskState;
import carillon.testkit.World;
import java.util.List;
import org.junit.jupiter.api.Test;

class TaskCancelsTest {

  private static final TaskCancels.Because BECAUSE = new TaskCancels.Because("test", null);

  /** A restore can give a task to a second tenant. */
  @Test
  void tasks_with_the_same_id_in_two_tenants_are_cancelled_each_by_its_own_state() {
    try (World world = World.create()) {
      world.node("node");
      world.sql("INSERT INTO carillon.tenant (name) VALUES ('other')");
      world.catalog.refresh();
      var other =
          new TenantId(
              Integer.parseInt(world.value("SELECT id FROM carillon.tenant WHERE name = 'other'")));
      TaskId running = runningTask(world, other);
      TaskId id = world.discard();
      world.sql(
          """
          WITH claimed AS (
              UPDATE carillon.claim SET tasks = ARRAY['%1$s'::uuid]
          )
          UPDATE carillon.task SET id = '%1$s' WHERE id = '%2$s'
          """
              .formatted(id, running));
      assertThat(state(world, other, id)).isEqualTo(TaskState.RUNNING);

      world.db.inTransaction(
          tx -> {
            var tasks =
                List.of(new TaskCancels.Task(World.TENANT, id), new TaskCancels.Task(other, id));
            TaskCancels.cancel(tx, tasks, BECAUSE);
            return tasks.size();
          });

      assertThat(world.state(id)).isEqualTo(TaskState.CANCELLED);
      TaskView stillRunning = world.tasks.find(other, id).orElseThrow();
      assertThat(stillRunning.state()).isEqualTo(TaskState.RUNNING);
      assertThat(stillRunning.cancelRequested()).isTrue();
    }
  }

  private static TaskId runningTask(World world, TenantId tenant) {
    var created = world.tasks.create(tenant, World.task("t", new Target.Discard()));
    world.claimOne("node");
    return ((Tasks.CreateResult.Created) created).task().id();
  }

  private static TaskState state(World world, TenantId tenant, TaskId id) {
    return world.tasks.find(tenant, id).orElseThrow().state();
  }
}
