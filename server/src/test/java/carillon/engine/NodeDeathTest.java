package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.engine.upkeep.Reaper;
import carillon.model.Signal;
import carillon.model.TaskId;
import carillon.model.cluster.NodeLease;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.Latches;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Nodes that die, and whom that is blamed on. The loops are run by hand. */
@Tag("slow")
class NodeDeathTest {

  private static final int POISON_CRASHES = 3;
  private static final int SEATS = 100;
  private static final SuspectGroups GROUPS = new SuspectGroups(SEATS, POISON_CRASHES);
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);
  private static final RetryPolicy PATIENT =
      new RetryPolicy(
          50,
          null,
          RetryPolicy.Backoff.FIXED,
          Duration.ofMillis(1),
          Duration.ofMillis(1),
          RetryPolicy.Jitter.NONE);

  private World world;
  private Engineer engineer;

  /** The parts of one node, under its current id. */
  private final class Engineer {
    private final FakeDeliverer deliverer = new FakeDeliverer();
    private final Seats seats = new Seats(SEATS);
    private final Completer completer;
    private final Dispatcher dispatcher;
    private final Suspects suspects;
    private final Claimer claimer;
    private final Reaper reaper;
    private final LostClaims lostClaims;

    private Engineer(String name) {
      ManualNode node = new ManualNode(world, name, deliverer, _ -> {});
      completer = node.completer;
      dispatcher = node.dispatcher;
      suspects =
          new Suspects(
              world.store.nodes(),
              world.store.queue(),
              dispatcher,
              world.agenda,
              _ -> true,
              GROUPS,
              new Signal());
      node.onSaved.add(suspects::ended);
      claimer = node.claimer(seats, Claimer.Lanes.ALL, new HttpStarter(dispatcher, suspects));
      ReapDecision verdict = new ReapDecision(world.clock, POISON_CRASHES);
      reaper = new Reaper(world.store.claims(), world.store.nodes(), node.lease, verdict, _ -> {});
      lostClaims =
          new LostClaims(
              world.store.claims(), node.lease, node.openClaims::isKnown, verdict, _ -> {});
    }

    private List<TaskId> delivered() {
      return deliverer.delivered().stream().map(ClaimedTask::id).toList();
    }

    private void close() {
      dispatcher.interrupt();
      dispatcher.close();
    }
  }

  @BeforeEach
  void open() {
    world = World.create();
    engineer = new Engineer("ours");
  }

  @AfterEach
  void close() {
    engineer.close();
    world.close();
  }

  private TaskId task() {
    return world.create(TestTask.of("t").payload("{}").target(HTTP).retry(PATIENT).build());
  }

  private List<TaskId> tasks(int n) {
    return IntStream.range(0, n).mapToObj(_ -> task()).toList();
  }

  /** A node claims all of them. */
  private void claimed(String node, int n) {
    world.node(node);
    List<ClaimedTask> claimed = new ArrayList<>();
    await().until(() -> claimed.addAll(world.claim(node, n)) && claimed.size() == n);
  }

  private void dies(String node) {
    world.sql(
        "UPDATE carillon.node SET lease_until = now() - interval '1 s' WHERE id = '%s'"
            .formatted(node));
  }

  private void suspect(TaskId id, int crashes) {
    world.sql("UPDATE carillon.task SET crashes = %d WHERE id = '%s'".formatted(crashes, id));
  }

  private String suspectsOf(String node) {
    return world.value("SELECT suspects FROM carillon.node WHERE id = '%s'".formatted(node));
  }

  /** How it stands, in a few words. */
  private String fate(TaskId id) {
    TaskView task = world.find(id);
    return "%s %s attempt=%d crashes=%d"
        .formatted(task.state(), task.last().failure(), task.attempt(), task.crashes());
  }

  @Test
  void everything_that_a_dead_node_ran_is_suspect_and_its_attempt_counts() {
    List<TaskId> ids = tasks(2);
    claimed("dead", 2);
    dies("dead");

    engineer.reaper.reapOnce();

    assertThat(ids).allMatch(id -> fate(id).equals("PENDING CRASHED attempt=1 crashes=1"));
    assertThat(world.counters.count(FailureKind.CRASHED)).isEqualTo(2);
    assertThat(world.counters.count(FailureKind.LEASE_LOST)).isZero();
  }

  @Test
  void started_tasks_are_blamed_and_waiting_suspects_are_not() {
    TaskId running = task();
    TaskId waiting = task();
    TaskId noSuspectYet = task();
    suspect(running, 1);
    suspect(waiting, 1);
    claimed("dead", 3);
    assertThat(world.store.nodes().mark("dead", List.of(running))).isTrue();
    dies("dead");

    engineer.reaper.reapOnce();

    assertThat(fate(running)).isEqualTo("PENDING CRASHED attempt=1 crashes=2");
    assertThat(fate(waiting)).isEqualTo("PENDING CRASHED attempt=0 crashes=1");
    assertThat(fate(noSuspectYet)).isEqualTo("PENDING CRASHED attempt=1 crashes=1");
  }

  @Test
  void a_poison_is_blamed_for_the_first_node_that_it_kills_whatever_ran_next_to_it() {
    TaskId innocent = task();
    TaskId poison = task();
    suspect(innocent, 1);
    claimed("dead-1", 2);
    world.store.nodes().mark("dead-1", List.of(innocent));
    dies("dead-1");
    engineer.reaper.reapOnce();
    assertThat(fate(poison)).isEqualTo("PENDING CRASHED attempt=1 crashes=1");

    // From now on it is a suspect, and the innocent task, on its last chance, runs without it.
    claimed("dead-2", 2);
    world.store.nodes().mark("dead-2", List.of(poison));
    dies("dead-2");
    engineer.reaper.reapOnce();
    claimed("dead-3", 2);
    world.store.nodes().mark("dead-3", List.of(poison));
    dies("dead-3");
    engineer.reaper.reapOnce();

    assertThat(fate(poison)).isEqualTo("DEAD POISON attempt=3 crashes=3");
    assertThat(fate(innocent)).isEqualTo("PENDING CRASHED attempt=1 crashes=2");
  }

  @Test
  void a_suspect_that_reached_its_target_is_cleared() {
    TaskId answered = task();
    suspect(answered, 2);
    engineer.deliverer.respondWith(_ -> failed(FailureKind.STATUS));

    tried(answered);

    assertThat(fate(answered)).isEqualTo("PENDING STATUS attempt=1 crashes=0");
  }

  @Test
  void a_suspect_that_did_not_reach_its_target_has_not_shown_that_it_is_harmless() {
    TaskId unreached = task();
    suspect(unreached, 1);
    engineer.deliverer.respondWith(_ -> failed(FailureKind.CONNECTION));

    tried(unreached);

    assertThat(fate(unreached)).isEqualTo("PENDING CONNECTION attempt=1 crashes=1");
  }

  private static DeliveryResult failed(FailureKind kind) {
    return new DeliveryResult.Failed(Failure.of(kind, "so"), null);
  }

  /** One attempt of it is over and written. */
  private void tried(TaskId id) {
    await()
        .until(
            () -> {
              engineer.claimer.claimOnce();
              engineer.suspects.startOnce();
              engineer.completer.flushOnce();
              return engineer.delivered().contains(id) && engineer.seats.taken() == 0;
            });
  }

  @Test
  void a_task_that_crashes_three_nodes_is_dead_as_poison_whatever_its_budget() {
    TaskId id = task();
    for (int crash = 1; crash <= POISON_CRASHES; crash++) {
      claimed("dead-" + crash, 1);
      world.store.nodes().mark("dead-" + crash, crash == 1 ? List.of() : List.of(id));
      dies("dead-" + crash);
      engineer.reaper.reapOnce();
    }

    assertThat(fate(id)).isEqualTo("DEAD POISON attempt=3 crashes=3");
    TaskStory story = world.tasks.story(World.TENANT, id).orElseThrow();
    assertThat(story.attempts())
        .extracting(attempt -> attempt.result().failure())
        .containsExactly(FailureKind.CRASHED, FailureKind.CRASHED, FailureKind.POISON);
    assertThat(story.transitions().getLast().reason()).isEqualTo("POISON");
    assertThat(world.value("SELECT failure FROM carillon.dead_letter")).isEqualTo("POISON");

    world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, id, "test", null));
    assertThat(world.find(id).crashes()).isZero();
  }

  @Test
  void a_published_task_is_never_a_suspect_and_every_crash_costs_an_attempt() {
    Target kafka = new Target.Kafka("main", "t", Target.Complete.ON_PUBLISH, null);
    TaskId id = world.create(TestTask.of("t").payload("{}").target(kafka).retry(PATIENT).build());
    for (int crash = 1; crash <= 2; crash++) {
      claimed("dead-" + crash, 1);
      dies("dead-" + crash);
      engineer.reaper.reapOnce();
    }

    assertThat(fate(id)).isEqualTo("PENDING CRASHED attempt=2 crashes=0");
  }

  @Test
  void two_reapers_at_once_count_a_crash_once() throws Exception {
    List<TaskId> ids = tasks(20);
    claimed("dead", 20);
    dies("dead");

    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      CountDownLatch go = new CountDownLatch(1);
      List<Future<?>> reapers =
          IntStream.range(0, 4)
              .<Future<?>>mapToObj(
                  _ ->
                      threads.submit(
                          () -> {
                            go.await();
                            return engineer.reaper.reapOnce();
                          }))
              .toList();
      go.countDown();
      for (Future<?> reaper : reapers) {
        reaper.get();
      }
    }

    assertThat(ids).allMatch(id -> fate(id).equals("PENDING CRASHED attempt=1 crashes=1"));
    assertThat(world.counters.count(FailureKind.CRASHED)).isEqualTo(20);
  }

  @Test
  void a_node_that_recovers_just_in_time_is_not_taken_for_dead() {
    TaskId id = task();
    claimed("slow", 1);
    dies("slow");
    var seen = world.store.claims().lapsed(10);
    world.sql("UPDATE carillon.node SET lease_until = now() + interval '1 min' WHERE id = 'slow'");

    seen.forEach(
        silent ->
            world
                .store
                .claims()
                .reap(
                    silent,
                    (_, _) -> {
                      throw new AssertionError("it lives");
                    }));

    assertThat(seen).hasSize(1);
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
    assertThat(world.find(id).crashes()).isZero();
  }

  @Test
  void a_suspect_is_blamed_if_its_node_crashed_between_mark_and_send() {
    TaskId id = task();
    suspect(id, POISON_CRASHES - 1);
    claimed("dead", 1);
    world.store.nodes().mark("dead", List.of(id));
    dies("dead");

    engineer.reaper.reapOnce();

    assertThat(fate(id)).isEqualTo("DEAD POISON attempt=1 crashes=3");
  }

  @Test
  void a_dead_nodes_mark_can_no_longer_be_changed() {
    TaskId id = task();
    claimed("dead", 1);
    world.store.nodes().mark("dead", List.of(id));
    dies("dead");

    assertThat(world.store.nodes().mark("dead", List.of())).isFalse();

    assertThat(suspectsOf("dead")).contains(id.toString());
  }

  @Test
  void a_claim_that_its_own_node_does_not_know_is_no_crash() {
    TaskId id = task();
    claimed("known", 1);
    world.sql("UPDATE carillon.claim SET node = 'ours'");

    engineer.lostClaims.findOnce();

    assertThat(fate(id)).isEqualTo("PENDING LEASE_LOST attempt=1 crashes=0");
  }

  @Test
  void a_node_that_was_only_cut_off_blames_no_task() {
    TaskId id = task();
    claimed("away", 1);
    dies("away");
    world.store.nodes().survive("away");

    engineer.reaper.reapOnce();

    assertThat(fate(id)).isEqualTo("PENDING LEASE_LOST attempt=1 crashes=0");
  }

  @Test
  void unsaved_outcomes_of_a_stopped_node_cost_no_attempt_and_no_blame() {
    TaskId id = task();
    claimed("stopped", 1);
    world.store.nodes().leave("stopped");

    await()
        .until(
            () -> {
              engineer.reaper.reapOnce();
              return world.state(id) == TaskState.PENDING;
            });

    assertThat(fate(id)).isEqualTo("PENDING SHUTDOWN attempt=0 crashes=0");
  }

  @Test
  void a_reaper_that_was_cut_off_reaps_no_node() {
    TaskId id = task();
    claimed("dead", 1);
    dies("dead");
    var cutOff =
        new Reaper(
            world.store.claims(),
            world.store.nodes(),
            () -> new NodeLease("ours", System.nanoTime() - 1),
            new ReapDecision(world.clock, POISON_CRASHES),
            _ -> {});

    cutOff.reapOnce();

    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
  }

  @Test
  void suspects_are_started_in_groups_marked_before_and_forgotten_after() {
    int size = GROUPS.size(1);
    List<TaskId> ids = tasks(size + 3);
    ids.forEach(id -> suspect(id, 1));
    CountDownLatch mayEnd = new CountDownLatch(1);
    Map<TaskId, String> marks = new ConcurrentHashMap<>();
    engineer.deliverer.respondWith(
        task -> {
          marks.put(task.id(), suspectsOf("ours"));
          Latches.await(mayEnd);
          return new DeliveryResult.Accepted(200, null);
        });
    await()
        .until(() -> engineer.claimer.claimOnce() != null && engineer.seats.taken() == ids.size());

    engineer.suspects.startOnce();
    await().until(() -> marks.size() == size);
    assertThat(engineer.suspects.startOnce()).isPositive();
    assertThat(engineer.delivered()).hasSize(size);
    assertThat(marks.values())
        .allMatch(marked -> engineer.delivered().stream().allMatch(id -> marked.contains("" + id)));
    assertThat(engineer.suspects.count())
        .extracting(Suspects.Count::waiting, Suspects.Count::running)
        .containsExactly(3, size);

    mayEnd.countDown();
    await()
        .until(
            () -> {
              engineer.completer.flushOnce();
              engineer.suspects.startOnce();
              return engineer.seats.taken() == 0;
            });
    engineer.suspects.startOnce();

    assertThat(engineer.delivered()).containsExactlyInAnyOrderElementsOf(ids);
    assertThat(marks).allSatisfy((id, marked) -> assertThat(marked).contains(id.toString()));
    assertThat(suspectsOf("ours")).isEqualTo("{}");
    assertThat(ids).allMatch(id -> world.state(id) == TaskState.COMPLETED);
  }

  @Test
  void a_suspect_makes_room_only_when_its_outcome_is_saved() {
    int size = GROUPS.size(1);
    List<TaskId> ids = tasks(size + 1);
    ids.forEach(id -> suspect(id, 1));
    await()
        .until(() -> engineer.claimer.claimOnce() != null && engineer.seats.taken() == ids.size());
    engineer.suspects.startOnce();
    await().until(() -> engineer.seats.waitingToBeSaved() == size);

    engineer.suspects.startOnce();

    assertThat(engineer.delivered()).hasSize(size);
    assertThat(engineer.delivered()).allMatch(id -> suspectsOf("ours").contains(id.toString()));
  }

  @Test
  void each_second_without_harm_one_more_than_the_group_may_start() {
    int size = GROUPS.size(1);
    List<TaskId> ids = tasks(size + 2);
    ids.forEach(id -> suspect(id, 1));
    engineer.deliverer.hang();
    await()
        .until(() -> engineer.claimer.claimOnce() != null && engineer.seats.taken() == ids.size());

    engineer.suspects.startOnce();
    engineer.suspects.startOnce();
    await().until(() -> engineer.delivered().size() == size);
    await()
        .until(
            () -> {
              engineer.suspects.startOnce();
              return engineer.delivered().size() > size;
            });

    assertThat(engineer.delivered()).hasSize(size + 1);
    assertThat(engineer.delivered()).allMatch(id -> suspectsOf("ours").contains(id.toString()));
  }

  @Test
  void a_suspect_on_its_last_chance_runs_alone() {
    TaskId harmless = task();
    TaskId lastChance = task();
    TaskId behind = task();
    suspect(harmless, 1);
    suspect(lastChance, POISON_CRASHES - 1);
    suspect(behind, 1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    engineer.deliverer.respondWith(
        task -> {
          if (task.id().equals(harmless)) {
            Latches.await(mayEnd);
          }
          return new DeliveryResult.Accepted(200, null);
        });
    await().until(() -> engineer.claimer.claimOnce() != null && engineer.seats.taken() == 3);
    engineer.suspects.startOnce();
    engineer.suspects.startOnce();
    await().until(() -> engineer.delivered().size() == 1);
    assertThat(suspectsOf("ours")).isEqualTo("{" + harmless + "}");

    mayEnd.countDown();
    await()
        .until(
            () -> {
              engineer.completer.flushOnce();
              engineer.suspects.startOnce();
              return engineer.seats.taken() == 0;
            });

    assertThat(engineer.delivered()).containsExactly(harmless, lastChance, behind);
  }

  @Test
  void a_suspect_one_crash_from_death_shares_no_blame() {
    List<TaskId> ids = tasks(2);
    ids.forEach(id -> suspect(id, POISON_CRASHES - 1));
    engineer.deliverer.hang();
    await()
        .until(() -> engineer.claimer.claimOnce() != null && engineer.seats.taken() == ids.size());

    await()
        .pollDelay(Duration.ZERO)
        .during(Duration.ofMillis(1_500)) // longer than a trial
        .until(
            () -> {
              engineer.suspects.startOnce();
              return engineer.delivered().size() <= 1;
            });

    assertThat(engineer.delivered()).hasSize(1);
    assertThat(suspectsOf("ours")).isEqualTo("{" + engineer.delivered().getFirst() + "}");
  }

  @Test
  void a_reaper_that_was_cut_off_gives_other_nodes_time_before_it_reaps_them() {
    TaskId id = task();
    claimed("slower", 1);
    dies("slower");
    AtomicReference<String> name = new AtomicReference<>("ours");
    Reaper reaper =
        new Reaper(
            world.store.claims(),
            world.store.nodes(),
            () -> NodeLease.renewed(name.get(), System.nanoTime(), Duration.ofMinutes(1)),
            new ReapDecision(world.clock, POISON_CRASHES),
            _ -> {});
    world.node("ours-again");
    world.sql("UPDATE carillon.node SET lease_until = now() + interval '1 h' WHERE id = 'slower'");
    reaper.reapOnce();
    dies("slower");
    name.set("ours-again");

    reaper.reapOnce();
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);

    await().until(() -> reaper.reapOnce() != null && world.state(id) == TaskState.PENDING);
  }

  @Test
  void other_tasks_do_not_wait_for_suspects_and_a_node_claims_few_of_them() {
    List<TaskId> suspects = tasks(50);
    suspects.forEach(id -> suspect(id, 1));
    List<TaskId> others = tasks(50);

    await()
        .until(
            () -> {
              world.sweep();
              engineer.claimer.claimOnce();
              engineer.completer.flushOnce();
              return others.stream().allMatch(id -> world.state(id) == TaskState.COMPLETED);
            });

    assertThat(engineer.seats.taken()).isBetween(1, GROUPS.maxWaiting());
    assertThat(engineer.delivered()).containsExactlyInAnyOrderElementsOf(others);
    assertThat(suspects.stream().filter(id -> world.state(id) == TaskState.PENDING).count())
        .isGreaterThanOrEqualTo(50 - GROUPS.maxWaiting());
  }

  @Test
  void suspects_are_counted_where_they_wait_and_while_they_run() {
    int room = GROUPS.maxWaiting();
    List<TaskId> ids = tasks(room + 7);
    ids.forEach(id -> suspect(id, 1));
    tasks(5);
    engineer.deliverer.hang();
    await()
        .until(
            () -> {
              world.sweep();
              engineer.claimer.claimOnce();
              return engineer.seats.taken() == room + 5;
            });

    engineer.suspects.startOnce();

    int running = GROUPS.size(1);
    assertThat(engineer.suspects.count())
        .extracting(Suspects.Count::waiting, Suspects.Count::running)
        .containsExactly(ids.size() - running, running);
    assertThat(engineer.suspects.count().oldest()).isBeforeOrEqualTo(world.clock.instant());
  }

  @Test
  void a_suspect_that_is_cancelled_while_it_waits_for_its_group_is_not_delivered() {
    TaskId id = task();
    suspect(id, 1);
    await()
        .until(
            () -> {
              world.sweep();
              engineer.claimer.claimOnce();
              return world.state(id) == TaskState.RUNNING;
            });

    world.cancel(id);
    engineer.suspects.startOnce();
    engineer.completer.flushOnce();

    assertThat(world.state(id)).isEqualTo(TaskState.CANCELLED);
    assertThat(engineer.delivered()).isEmpty();
    engineer.suspects.startOnce();
    assertThat(suspectsOf("ours")).isEqualTo("{}");
  }

  @Test
  void room_for_suspects_is_filled_without_waiting_for_a_sweep() {
    List<TaskId> ids = tasks(GROUPS.maxWaiting() + 7);
    ids.forEach(id -> suspect(id, 1));
    world.sweep();

    await()
        .until(
            () -> {
              engineer.claimer.claimOnce();
              engineer.suspects.startOnce();
              engineer.completer.flushOnce();
              return ids.stream().allMatch(id -> world.state(id) == TaskState.COMPLETED);
            });
  }

  @Test
  void the_reaper_reports_suspects_and_poison_tasks_of_a_crashed_node() {
    List<TaskId> ids = tasks(3);
    suspect(ids.getFirst(), POISON_CRASHES - 1);
    claimed("dead", 3);
    world.store.nodes().mark("dead", List.of(ids.getFirst()));
    dies("dead");
    List<EngineEvent> events = new ArrayList<>();
    var reaper =
        new Reaper(
            world.store.claims(),
            world.store.nodes(),
            () -> NodeLease.renewed("ours", System.nanoTime(), Duration.ofMinutes(1)),
            new ReapDecision(world.clock, POISON_CRASHES),
            events::add);

    reaper.reapOnce();

    assertThat(events).containsExactly(new EngineEvent.Reaped(3, 2));
    assertThat(world.counters.count(FailureKind.POISON)).isEqualTo(1);
  }

  @Test
  void suspects_that_wait_when_the_node_stops_go_back_without_cost() {
    List<TaskId> ids = tasks(2);
    ids.forEach(id -> suspect(id, 2));
    await()
        .until(() -> engineer.claimer.claimOnce() != null && engineer.seats.taken() == ids.size());
    engineer.deliverer.hang();
    engineer.suspects.startOnce();
    await().until(() -> engineer.delivered().size() == 1);

    engineer.suspects.close();
    engineer.dispatcher.interrupt();
    engineer.dispatcher.close();
    engineer.completer.flushOnce();

    assertThat(ids).allMatch(id -> fate(id).equals("PENDING SHUTDOWN attempt=0 crashes=2"));
    assertThat(engineer.seats.taken()).isZero();
    assertThat(world.counters.count(FailureKind.SHUTDOWN)).isEqualTo(2);
  }

  @Test
  void a_suspect_claimed_under_an_id_that_lost_its_lease_is_not_sent() {
    TaskId id = task();
    suspect(id, 1);
    await().until(() -> engineer.claimer.claimOnce() != null && engineer.seats.taken() == 1);
    dies("ours");

    engineer.suspects.startOnce();
    engineer.completer.flushOnce();

    assertThat(engineer.delivered()).isEmpty();
    assertThat(suspectsOf("ours")).isEqualTo("{}");
    assertThat(engineer.seats.taken()).isZero();
  }

  @Test
  void a_crash_in_the_last_attempt_is_the_end_and_not_called_poison() {
    RetryPolicy once =
        new RetryPolicy(
            1,
            null,
            RetryPolicy.Backoff.FIXED,
            Duration.ofMillis(1),
            Duration.ofMillis(1),
            RetryPolicy.Jitter.NONE);
    TaskId id = world.create(TestTask.of("t").payload("{}").target(HTTP).retry(once).build());
    claimed("dead", 1);
    dies("dead");

    engineer.reaper.reapOnce();

    assertThat(fate(id)).isEqualTo("DEAD CRASHED attempt=1 crashes=1");
  }

  @Test
  void a_lost_worker_is_a_lost_lease_and_no_crash() {
    TaskId id = world.create(World.task("pulled", new Target.Pull()));
    await()
        .until(
            () ->
                !world
                    .db
                    .inTransaction(
                        tx ->
                            world
                                .store
                                .pullQueue()
                                .claim(
                                    tx,
                                    World.TENANT,
                                    List.of("pulled"),
                                    1,
                                    "worker",
                                    Duration.ofMinutes(1)))
                    .isEmpty());
    world.sql("UPDATE carillon.task SET lease_until = now() - interval '1 s'");
    world.sql("UPDATE carillon.claim SET lease_until = now() - interval '1 s'");

    engineer.reaper.reapOnce();

    assertThat(fate(id)).isEqualTo("PENDING LEASE_LOST attempt=1 crashes=0");
  }
}
