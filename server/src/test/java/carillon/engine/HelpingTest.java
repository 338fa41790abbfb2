package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.Shards;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.TaskState;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A node claims from its own lanes at once, and from the lanes of other nodes when they are late.
 */
@Tag("slow")
class HelpingTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);
  private static final Duration A_MINUTE = Duration.ofMinutes(1);
  private static final int SEATS = 50;
  private static final Duration SLOW = Duration.ofMillis(700);

  private final List<Node> nodes = new ArrayList<>();
  private World world;

  /** A process with a running engine. */
  private final class Node implements AutoCloseable {
    private final World store;
    private final FakeDeliverer deliverer = new FakeDeliverer();
    private final Engine engine;
    private volatile ClusterView view;

    Node(String name, ClusterView view) {
      this.store = world.anotherProcess();
      this.view = view;
      store.node(name);
      store.agenda.shareWith(
          new Announcer(name, store.catalog, () -> this.view, store.clock, _ -> {}));
      this.engine =
          Engines.start(
              store,
              name,
              new Engine.Transports(deliverer, List.of()),
              () -> this.view,
              new EngineConfig(SEATS, Duration.ZERO, 3, A_MINUTE),
              _ -> {});
      nodes.add(this);
    }

    List<TaskId> delivered() {
      return deliverer.delivered().stream().map(ClaimedTask::id).toList();
    }

    @Override
    public void close() {
      try {
        engine.stop();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      store.close();
    }
  }

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    nodes.forEach(Node::close);
    world.close();
  }

  private static ClusterView only(int lane) {
    return new ClusterView(null, 1L << Shards.of(lane), false);
  }

  private static ClusterView allBut(int lane) {
    return new ClusterView(null, ~(1L << Shards.of(lane)), false);
  }

  private int lane(TaskId id) {
    return Integer.parseInt(
        world.value("SELECT lane FROM carillon.task WHERE id = '%s'".formatted(id)));
  }

  private Duration waited(TaskId id) {
    TaskView task = world.find(id);
    return Duration.between(task.dueAt(), task.startedAt());
  }

  private List<TaskId> createMany(String type, Instant dueAt) {
    return IntStream.range(0, 50)
        .mapToObj(_ -> world.create(World.task(type, HTTP, dueAt)))
        .toList();
  }

  @Test
  void each_node_claims_only_its_own_lanes_while_the_other_is_on_time() {
    int first = lane(world.create(World.task("first", HTTP)));
    world.create(World.task("second", HTTP));
    Node a = new Node("a", only(first));
    Node b = new Node("b", allBut(first));
    // Leaves time for the next sweep of each node, because no hints are sent.
    Instant dueAt = world.clock.instant().plusSeconds(3);
    List<TaskId> ofFirst = createMany("first", dueAt);
    List<TaskId> ofSecond = createMany("second", dueAt);

    await().until(() -> a.delivered().size() + b.delivered().size() == 102);

    assertThat(a.delivered()).containsAll(ofFirst).doesNotContainAnyElementsOf(ofSecond);
    assertThat(b.delivered()).containsAll(ofSecond).doesNotContainAnyElementsOf(ofFirst);
  }

  @Test
  void late_tasks_of_a_lost_node_are_claimed_by_another() {
    TaskId id = world.create(World.task("t", HTTP));
    Node other = new Node("other", allBut(lane(id)));

    await().until(() -> other.delivered().equals(List.of(id)));

    assertThat(waited(id)).isGreaterThanOrEqualTo(Claimer.HELP_AFTER);
  }

  @Test
  void a_helping_node_does_not_pause_between_full_batches() {
    int tasks = 40 * SEATS;
    List<TaskId> ids =
        world.db.inTransaction(
            tx ->
                ((Tasks.BatchResult.Created)
                        world.tasks.createAll(
                            tx, World.TENANT, Collections.nCopies(tasks, World.task("t", HTTP))))
                    .ids());
    world.sql("UPDATE carillon.task SET ready_at = ready_at - interval '10 s'");
    Node other = new Node("other", allBut(lane(ids.getFirst())));

    await().atMost(Duration.ofSeconds(30)).until(() -> other.delivered().size() == tasks);

    assertThat(other.delivered()).containsExactlyInAnyOrderElementsOf(ids);
  }

  @Test
  void a_single_node_starts_every_task_at_once() {
    Node alone = new Node("alone", ClusterView.ALONE);

    TaskId id = alone.store.create(World.task("t", HTTP));
    await().until(() -> alone.delivered().contains(id));

    assertThat(waited(id)).isLessThan(Claimer.HELP_AFTER);
  }

  @Test
  void a_newly_owned_lane_is_swept_without_hints() {
    TaskId before = world.create(World.task("t", HTTP));
    world.cancel(before);
    Node heir = startWithASlowSweep("heir", allBut(lane(before)));
    TaskId id = world.create(World.task("t", HTTP));

    heir.view = ClusterView.ALONE;
    heir.store.signals.clusterChanged().raise();

    await().atMost(SLOW.multipliedBy(15)).until(() -> heir.delivered().equals(List.of(id)));
  }

  /** Starts a node whose next sweep is 20 seconds away unless something wakes it. */
  private Node startWithASlowSweep(String name, ClusterView view) {
    world.sql("BEGIN; LOCK TABLE carillon.partition");
    Node node = new Node(name, view);
    await()
        .until(
            () ->
                world
                    .value(
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND"
                            + " query LIKE '/* Partitions.open */%%' AND clock_timestamp() -"
                            + " query_start"
                            + " > interval '%d ms'".formatted(SLOW.toMillis()))
                    .equals("1"));
    world.sql("COMMIT");
    await().until(() -> node.store.memory.sweep().isOpen(Partition.of(world.clock.instant())));
    return node;
  }

  @Test
  void a_helper_backs_off_from_a_lane_without_claimable_tasks() {
    TaskId id = world.create(World.task("t", HTTP));
    Partition partition = id.partition();
    int lane = lane(id);
    world.cancel(id);
    try (ManualNode node = new ManualNode(world, "helper", new FakeDeliverer(), _ -> {})) {
      Claimer helper =
          node.claimer(new Seats(SEATS), new Claimer.Lanes(_ -> false, _ -> true), (_, _) -> {});

      for (int sweep = 0; sweep < 3; sweep++) {
        world.agenda.found(partition, lane, Instant.EPOCH);
        assertThat(helper.claimOnce().delay()).isPositive();
      }

      assertThat(node.progress).hasValue(1);
    }
  }

  @Test
  void two_owners_of_one_lane_run_each_task_once() {
    int tasks = 2_000;
    Node a = new Node("a", ClusterView.ALONE);
    Node b = new Node("b", ClusterView.ALONE);
    for (int i = 0; i < tasks / 2; i++) {
      a.store.create(World.task(i % 2 == 0 ? "sent" : "also-sent", HTTP));
      b.store.create(World.task("discarded", new Target.Discard()));
    }

    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () ->
                world
                    .value("SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED'")
                    .equals(String.valueOf(tasks)));

    List<TaskId> delivered = new ArrayList<>(a.delivered());
    delivered.addAll(b.delivered());
    assertThat(delivered).hasSize(tasks / 2).doesNotHaveDuplicates();
    assertThat(world.value("SELECT max(fence) || ' ' || max(attempt) FROM carillon.task"))
        .isEqualTo("1 1");
  }

  @Test
  void a_stopping_node_releases_tasks_that_it_has_not_started() {
    TaskId id = world.create(World.task("t", HTTP));
    world.sql("UPDATE carillon.task SET crashes = 2");
    TaskId other = world.create(World.task("t", HTTP));
    world.sql("UPDATE carillon.task SET crashes = 2 WHERE id = '%s'".formatted(other));
    Node node = new Node("stopping", ClusterView.ALONE);
    node.deliverer.hang();
    await().until(() -> node.engine.inFlight() == 2);

    node.engine.stopClaiming();

    await()
        .atMost(Duration.ofSeconds(1))
        .until(
            () ->
                List.of(id, other).stream()
                    .anyMatch(each -> world.state(each) == TaskState.PENDING));
    assertThat(world.value("SELECT min(attempt) FROM carillon.every_task WHERE state = 'PENDING'"))
        .isEqualTo("0");
  }
}
