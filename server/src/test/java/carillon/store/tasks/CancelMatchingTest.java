package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.AlertSetting;
import carillon.model.task.TaskState;
import carillon.store.catalog.Tenant;
import carillon.store.catalog.Tenants;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CancelMatchingTest {

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

  private TaskId create(String type, @Nullable String key, @Nullable Instant dueAt, String colour) {
    return world.create(
        TestTask.of(type)
            .key(key)
            .dueAt(dueAt)
            .target(new Target.Discard())
            .metadata(Map.of("colour", colour))
            .build());
  }

  private int cancel(@Nullable String type, @Nullable String key, Map<String, String> metadata) {
    TaskFilter filter = new TaskFilter(type, null, key, null, null, null, null, metadata);
    return cancel(World.TENANT, filter).tasks();
  }

  private BulkResult cancel(TenantId tenant, TaskFilter filter) {
    return world.db.inTransaction(
        tx -> world.tasks.cancelMatching(tx, tenant, filter, null, "test"));
  }

  @Test
  void a_cancel_by_type_and_key_covers_all_partitions() {
    Instant nextWeek = world.clock.instant().plusSeconds(7 * 86_400);
    TaskId near = create("a", "k", null, "red");
    TaskId far = create("a", "k", nextWeek, "red");
    TaskId otherKey = create("a", "other", nextWeek, "red");
    TaskId otherType = create("b", "k", nextWeek, "red");

    assertThat(cancel("a", "k", Map.of())).isEqualTo(2);

    assertThat(world.state(near)).isEqualTo(TaskState.CANCELLED);
    assertThat(world.state(far)).isEqualTo(TaskState.CANCELLED);
    assertThat(world.state(otherKey)).isEqualTo(TaskState.PENDING);
    assertThat(world.state(otherType)).isEqualTo(TaskState.PENDING);
    assertThat(world.tasks.story(World.TENANT, far).orElseThrow().transitions())
        .extracting(TaskStory.Transition::to)
        .containsExactly(TaskState.CANCELLED);
  }

  @Test
  void a_cancel_by_metadata_needs_no_type() {
    TaskId red = create("a", null, null, "red");
    TaskId blue = create("b", null, null, "blue");

    assertThat(cancel(null, null, Map.of("colour", "blue"))).isEqualTo(1);

    assertThat(world.state(red)).isEqualTo(TaskState.PENDING);
    assertThat(world.state(blue)).isEqualTo(TaskState.CANCELLED);
  }

  @Test
  void running_tasks_get_a_cancel_request_and_are_counted_separately() {
    TaskId id = create("a", "k", null, "red");
    world.claimOne("node");
    create("a", "k", null, "red");
    TaskFilter all = new TaskFilter("a", null, null, null, null, null, null, Map.of());

    assertThat(cancel(World.TENANT, all)).isEqualTo(new BulkResult(1, 1, false, null));
    assertThat(cancel(World.TENANT, all)).isEqualTo(new BulkResult(0, 0, false, null));

    assertThat(world.value("SELECT detail FROM carillon.audit ORDER BY id LIMIT 1"))
        .isEqualTo("{\"filter\": {\"type\": \"a\"}, \"cancelled\": 1, \"requested\": 1}");
    assertThat(world.find(id).cancelRequested()).isTrue();
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
  }

  @Test
  void a_bulk_change_never_crosses_tenants() {
    TaskId mine = create("a", "k", null, "red");
    Tenant other =
        world
            .store
            .tenants()
            .put(
                "other",
                new Tenants.Settings(false, false, 1, new AlertSetting.Inherited(), null),
                "test");
    TaskFilter filter = new TaskFilter("a", null, "k", null, null, null, null, Map.of());

    assertThat(cancel(other.id(), filter).tasks()).isZero();
    assertThat(world.state(mine)).isEqualTo(TaskState.PENDING);
  }
}
