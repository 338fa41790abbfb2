package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.cluster.NodeLease;
import carillon.model.target.Target;
import carillon.model.task.TaskState;
import carillon.testkit.World;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LostClaimsTest {

  private final Set<UUID> known = new HashSet<>();
  private World world;
  private LostClaims lostClaims;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
    lostClaims =
        new LostClaims(
            world.store.claims(),
            () -> NodeLease.renewed("node", System.nanoTime(), Duration.ofMinutes(1)),
            known::contains,
            new ReapDecision(world.clock, 3),
            _ -> {});
  }

  @AfterEach
  void close() {
    world.close();
  }

  @Test
  void a_node_without_recent_claims_searches_rarely() {
    lostClaims.searchWhile(() -> false);
    TaskId id = world.create(World.task("t", new Target.Discard()));
    world.claimOne("node");

    for (int pass = 1; pass < 10; pass++) {
      assertThat(lostClaims.findOnce().isProof()).isFalse();
      assertThat(world.state(id)).as("after pass %d", pass).isEqualTo(TaskState.RUNNING);
    }
    assertThat(lostClaims.findOnce().isProof()).isTrue();

    assertThat(world.state(id)).isNotEqualTo(TaskState.RUNNING);
  }

  @Test
  void every_pass_searches_while_the_node_holds_a_claim() {
    TaskId id = world.create(World.task("t", new Target.Discard()));
    UUID claim = world.claimOne("node").lease().claim();
    known.add(claim);
    lostClaims.findOnce();
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);

    lostClaims.searchWhile(() -> false);
    known.clear();
    lostClaims.findOnce();

    assertThat(world.state(id)).isNotEqualTo(TaskState.RUNNING);
  }
}
