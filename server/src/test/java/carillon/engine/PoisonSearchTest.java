package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.engine.upkeep.Reaper;
import carillon.model.Signal;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.RetryPolicy;
import carillon.store.tasks.TaskView;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Nodes that crash until every poison task among their tasks is found. The tests run the passes.
 */
@Tag("slow")
class PoisonSearchTest {

  private static final int SEATS = 64;
  private static final int CRASHES = 3;
  private static final SuspectGroups GROUPS = new SuspectGroups(SEATS, CRASHES);
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);
  private static final RetryPolicy MANY_ATTEMPTS =
      new RetryPolicy(
          50,
          null,
          RetryPolicy.Backoff.FIXED,
          Duration.ofMillis(1),
          Duration.ofMillis(1),
          RetryPolicy.Jitter.NONE);

  private World world;
  private final List<Node> nodes = new ArrayList<>();
  private final Set<TaskId> poisons = ConcurrentHashMap.newKeySet();
  private final Map<TaskId, Integer> starts = new ConcurrentHashMap<>();
  private final CountDownLatch firstCrash = new CountDownLatch(1);
  private final AtomicInteger largestGroup = new AtomicInteger();
  private final AtomicInteger largestWithLastChance = new AtomicInteger();
  private int crashes;
  private int names;

  /** A node that crashes as soon as it runs a poison task, except in the first run of all tasks. */
  private final class Node {
    private final String name = "node-" + names++;
    private final Seats seats = new Seats(SEATS);
    private final FakeDeliverer deliverer = new FakeDeliverer();
    private final ManualNode node = new ManualNode(world, name, deliverer, _ -> {});
    private final Suspects suspects =
        new Suspects(
            world.store.nodes(),
            world.store.queue(),
            node.dispatcher,
            world.agenda,
            _ -> true,
            GROUPS,
            new Signal());
    private final Claimer claimer =
        node.claimer(seats, Claimer.Lanes.ALL, new HttpStarter(node.dispatcher, suspects));
    private final Reaper reaper =
        new Reaper(
            world.store.claims(),
            world.store.nodes(),
            node.lease,
            new ReapDecision(world.clock, CRASHES),
            _ -> {});
    private final Map<TaskId, Integer> running = new ConcurrentHashMap<>();
    private volatile boolean hasCrashed;

    private Node() {
      node.onSaved.add(suspects::ended);
      deliverer.respondWith(this::run);
    }

    private DeliveryResult run(ClaimedTask task) {
      starts.merge(task.id(), 1, Integer::sum);
      try {
        if (task.isSuspect()) {
          running.put(task.id(), task.crashes());
          largestGroup.accumulateAndGet(running.size(), Math::max);
          if (running.containsValue(CRASHES - 1)) {
            largestWithLastChance.accumulateAndGet(running.size(), Math::max);
          }
        }
        if (firstCrash.getCount() > 0) {
          new CountDownLatch(1).await(); // in flight until the node crashes
        }
        if (poisons.contains(task.id())) {
          hasCrashed = true;
          new CountDownLatch(1).await();
        }
        boolean _ = new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        running.remove(task.id());
        return new DeliveryResult.Accepted(200, null);
      } catch (InterruptedException e) {
        return new DeliveryResult.Interrupted();
      }
    }

    private void work() {
      claimer.claimOnce();
      suspects.startOnce();
      node.completer.flushOnce();
      reaper.reapOnce();
    }

    /** Stops all writes of the node and lets its lease lapse. */
    private void crash() {
      crashes++;
      world.sql(
          "UPDATE carillon.node SET lease_until = now() - interval '1 s' WHERE id = '%s'"
              .formatted(name));
      node.dispatcher.interrupt();
    }
  }

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    nodes.forEach(node -> node.node.close());
    world.close();
  }

  private TaskId createTask() {
    return world.create(TestTask.of("t").payload("{}").target(HTTP).retry(MANY_ATTEMPTS).build());
  }

  private void claimAll(Node node, int tasks) {
    while (starts.size() < tasks) {
      world.sweep();
      node.claimer.claimOnce();
    }
  }

  /** Runs the nodes until all tasks have ended, and replaces each node that crashes. */
  private void runUntilAllEnded(int atOnce) {
    List<Node> alive = new ArrayList<>();
    while (!world
        .value("SELECT count(*) FROM carillon.task WHERE state IN ('PENDING','RUNNING')")
        .equals("0")) {
      while (alive.size() < atOnce) {
        alive.add(new Node());
        nodes.add(alive.getLast());
      }
      world.sweep();
      alive.forEach(Node::work);
      for (Node node : List.copyOf(alive)) {
        if (node.hasCrashed) {
          node.crash();
          alive.remove(node);
        }
      }
    }
  }

  private Set<String> fates(Set<TaskId> ids) {
    Set<String> fates = new HashSet<>();
    for (TaskId id : ids) {
      TaskView task = world.find(id);
      fates.add("%s %s".formatted(task.state(), task.last().failure()));
    }
    return fates;
  }

  @ParameterizedTest(name = "{0} poisons, {1} nodes")
  @CsvSource({"0, 1", "1, 1", "2, 1", "2, 2"})
  void poison_tasks_are_dead_after_three_crashes_and_no_other_task_is(int count, int atOnce) {
    Set<TaskId> all = new HashSet<>();
    IntStream.range(0, SEATS).forEach(_ -> all.add(createTask()));
    poisons.addAll(all.stream().limit(count).toList());
    Node first = new Node();
    nodes.add(first);
    claimAll(first, SEATS);
    first.crash();
    firstCrash.countDown();

    runUntilAllEnded(atOnce);

    Set<TaskId> innocents = new HashSet<>(all);
    innocents.removeAll(poisons);
    assertThat(fates(innocents)).containsExactly("COMPLETED null");
    assertThat(poisons).allMatch(id -> world.find(id).crashes() == CRASHES);
    assertThat(poisons).allMatch(id -> Integer.valueOf(CRASHES).equals(starts.get(id)));
    assertThat(fates(poisons)).isEqualTo(count == 0 ? Set.of() : Set.of("DEAD POISON"));
    assertThat(crashes).isLessThanOrEqualTo(1 + count * (CRASHES - 1));
    assertThat(largestGroup.get()).isBetween(2, GROUPS.size(1));
    assertThat(largestWithLastChance.get()).isLessThanOrEqualTo(1);
  }

  @Test
  void a_poison_task_that_arrives_while_suspects_run_is_found_too() {
    Set<TaskId> all = new HashSet<>();
    IntStream.range(0, SEATS).forEach(_ -> all.add(createTask()));
    poisons.add(all.iterator().next());
    Node first = new Node();
    nodes.add(first);
    claimAll(first, SEATS);
    first.crash();
    firstCrash.countDown();
    first.reaper.reapOnce();
    TaskId late = createTask(); // not a suspect when it crashes its first node
    poisons.add(late);

    runUntilAllEnded(1);

    all.removeAll(poisons);
    assertThat(fates(all)).containsExactly("COMPLETED null");
    assertThat(fates(poisons)).containsExactly("DEAD POISON");
    assertThat(starts).containsEntry(late, CRASHES);
  }
}
