package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.cluster.NodeLease;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Outcome;
import carillon.model.task.TaskState;
import carillon.store.db.Db;
import carillon.store.db.Pooler;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LostClaimsTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);
  private static final Outcome COMPLETED = new Outcome.Completed(null, null);

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

  @Test
  void a_task_whose_end_was_lost_by_a_failover_is_reclaimed() {
    loseAnEnd(world, true);
  }

  /** Connections through a pooler survive the failover, which is noticed up to a second later. */
  @Test
  void a_task_whose_end_was_lost_by_an_unnoticed_failover_is_reclaimed() {
    Db.Address address = world.address;
    try (World pooled =
        World.on(
            new Db.Address(
                address.url(), address.user(), address.password(), Pooler.TRANSACTION))) {
      loseAnEnd(pooled, false);
    }
  }

  /** An asynchronous standby may have the claim of two tasks and not the end of the first. */
  private static void loseAnEnd(World world, boolean isNoticed) {
    TaskId first = world.create(World.task("t", HTTP));
    TaskId second = world.create(World.task("t", HTTP));
    var deliverer = new FakeDeliverer();
    try (var node = new ManualNode(world, "other", deliverer, _ -> {})) {
      world.signals.databaseReplaced().add(node.openClaims::keepAll);
      List<ClaimedTask> started = new ArrayList<>();
      Claimer claimer =
          node.claimer(new Seats(2), Claimer.Lanes.ALL, (tasks, _) -> started.addAll(tasks));
      world.sweep();
      world.awaitDue(second);
      claimer.claimOnce();
      assertThat(started).extracting(ClaimedTask::id).containsExactly(first, second);
      node.completer.add(new Attempted(started.getFirst(), COMPLETED));
      node.completer.flushOnce();
      assertThat(world.state(first)).isEqualTo(TaskState.COMPLETED);

      world.sql(
          "UPDATE carillon.task SET state = 'PENDING', ready_at = due_at, fence = 0, attempt = 0,"
              + " started_at = NULL, finished_at = NULL, leased_by = NULL, version = 1 WHERE id = '"
              + first
              + "'");
      if (isNoticed) {
        world.signals.databaseReplaced().raise();
      }
      assertThat(world.state(first)).isEqualTo(TaskState.RUNNING);
      node.completer.add(new Attempted(started.getLast(), COMPLETED));
      node.completer.flushOnce();

      assertThat(world.state(second)).isEqualTo(TaskState.COMPLETED);
      assertThat(world.state(first)).isEqualTo(TaskState.RUNNING);
      node.findLostClaims();
      assertThat(world.state(first)).isEqualTo(TaskState.PENDING);
      assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("0");
    }
  }
}
