package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.engine.ReapDecision;
import carillon.model.TaskId;
import carillon.model.cluster.NodeLease;
import carillon.model.task.TaskState;
import carillon.testkit.World;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ReaperTest {

  /** A failover can lose the row of a node that has just joined. */
  @Test
  void a_claim_of_a_node_without_a_row_is_reaped() {
    try (World world = World.create()) {
      world.node("node");
      TaskId id = world.discard();
      world.claimOne("node");
      world.sql("DELETE FROM carillon.node WHERE id = 'node'");
      assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);

      reaper(world).reapOnce();

      assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
      assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("0");
    }
  }

  @Test
  void a_claim_of_a_node_with_a_lease_stays() {
    try (World world = World.create()) {
      world.node("node");
      TaskId id = world.discard();
      world.claimOne("node");

      reaper(world).reapOnce();

      assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
    }
  }

  private static Reaper reaper(World world) {
    world.node("other");
    return new Reaper(
        world.store.claims(),
        world.store.nodes(),
        () -> NodeLease.renewed("other", System.nanoTime(), Duration.ofMinutes(1)),
        new ReapDecision(world.clock, 3),
        _ -> {});
  }
}
