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

/** Crashed nodes, and the tasks that are blamed for the crash. The tests run the passes. */
@Tag("slow")
class NodeDeathTest {

  private static final int POISON_CRASHES = 3;
  private static final int SEATS = 100;
  private static final SuspectGroups GROUPS = new SuspectGroups(SEATS, POISON_CRASHES);
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
  private TestNode ours;

  /** A node whose passes the test runs. */
  private final class TestNode {
    private final FakeDeliverer deliverer = new FakeDeliverer();
    private final Seats seats = new Seats(SEATS);
    private final Completer completer;
    private final Dispatcher dispatcher;
    private final Suspects suspects;
    private final Claimer claimer;
    private final Reaper reaper;
    private final LostClaims lostClaims;

    private TestNode(String name) {
      ManualNode parts = new ManualNode(world, name, deliverer, _ -> {});
      completer = parts.completer;
      dispatcher = parts.dispatcher;
      suspects =
          new Suspects(
              world.store.nodes(),
              world.store.queue(),
              dispatcher,
              world.agenda,
              _ -> true,
              GROUPS,
              new Signal());
      parts.onSaved.add(suspects::ended);
      claimer = parts.claimer(seats, Claimer.Lanes.ALL, new HttpStarter(dispatcher, suspects));
      ReapDecision decision = new ReapDecision(world.clock, POISON_CRASHES);
      reaper =
          new Reaper(world.store.claims(), world.store.nodes(), parts.lease, decision, _ -> {});
      lostClaims =
          new LostClaims(
              world.store.claims(), parts.lease, parts.openClaims::isKnown, decision, _ -> {});
    }

    /** Runs passes of the claimer until this many seats are taken. */
    private void claimUntilTaken(int tasks) {
      await()
          .until(
              () -> {
                claimer.claimOnce();
                return seats.taken() == tasks;
              });
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
    ours = new TestNode("ours");
  }

  @AfterEach
  void close() {
    ours.close();
    world.close();
  }

  private TaskId createTask() {
    return world.create(TestTask.of("t").payload("{}").target(HTTP).retry(MANY_ATTEMPTS).build());
  }

  private List<TaskId> createTasks(int n) {
    return IntStream.range(0, n).mapToObj(_ -> createTask()).toList();
  }

  /** Claims this many tasks for a node. */
  private void claim(String node, int n) {
    world.node(node);
    List<ClaimedTask> claimed = new ArrayList<>();
    await().until(() -> claimed.addAll(world.claim(node, n)) && claimed.size() == n);
  }

  private void lapse(String node) {
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

  /** The state, last failure and counts of a task. */
  private String fate(TaskId id) {
    TaskView task = world.find(id);
    return "%s %s attempt=%d crashes=%d"
        .formatted(task.state(), task.last().failure(), task.attempt(), task.crashes());
  }

  @Test
  void tasks_of_a_crashed_node_become_suspects_and_their_attempt_counts() {
    List<TaskId> ids = createTasks(2);
    claim("dead", 2);
    lapse("dead");

    ours.reaper.reapOnce();

    assertThat(ids).allMatch(id -> fate(id).equals("PENDING CRASHED attempt=1 crashes=1"));
    assertThat(world.counters.count(FailureKind.CRASHED)).isEqualTo(2);
    assertThat(world.counters.count(FailureKind.LEASE_LOST)).isZero();
  }

  @Test
  void started_tasks_are_blamed_and_waiting_suspects_are_not() {
    TaskId running = createTask();
    TaskId waiting = createTask();
    TaskId notYetSuspect = createTask();
    suspect(running, 1);
    suspect(waiting, 1);
    claim("dead", 3);
    assertThat(world.store.nodes().mark("dead", List.of(running))).isTrue();
    lapse("dead");

    ours.reaper.reapOnce();

    assertThat(fate(running)).isEqualTo("PENDING CRASHED attempt=1 crashes=2");
    assertThat(fate(waiting)).isEqualTo("PENDING CRASHED attempt=0 crashes=1");
    assertThat(fate(notYetSuspect)).isEqualTo("PENDING CRASHED attempt=1 crashes=1");
  }

  @Test
  void a_poison_task_is_blamed_for_its_first_crash_whatever_runs_alongside() {
    TaskId innocent = createTask();
    TaskId poison = createTask();
    suspect(innocent, 1);
    claim("dead-1", 2);
    world.store.nodes().mark("dead-1", List.of(innocent));
    lapse("dead-1");
    ours.reaper.reapOnce();
    assertThat(fate(poison)).isEqualTo("PENDING CRASHED attempt=1 crashes=1");

    // From now on it is a suspect, and the innocent task, on its last chance, runs without it.
    claim("dead-2", 2);
    world.store.nodes().mark("dead-2", List.of(poison));
    lapse("dead-2");
    ours.reaper.reapOnce();
    claim("dead-3", 2);
    world.store.nodes().mark("dead-3", List.of(poison));
    lapse("dead-3");
    ours.reaper.reapOnce();

    assertThat(fate(poison)).isEqualTo("DEAD POISON attempt=3 crashes=3");
    assertThat(fate(innocent)).isEqualTo("PENDING CRASHED attempt=1 crashes=2");
  }

  @Test
  void a_suspect_that_reaches_its_target_is_cleared() {
    TaskId answered = createTask();
    suspect(answered, 2);
    ours.deliverer.respondWith(_ -> failed(FailureKind.STATUS));

    runAttempt(answered);

    assertThat(fate(answered)).isEqualTo("PENDING STATUS attempt=1 crashes=0");
  }

  @Test
  void a_suspect_that_does_not_reach_its_target_stays_a_suspect() {
    TaskId unreached = createTask();
    suspect(unreached, 1);
    ours.deliverer.respondWith(_ -> failed(FailureKind.CONNECTION));

    runAttempt(unreached);

    assertThat(fate(unreached)).isEqualTo("PENDING CONNECTION attempt=1 crashes=1");
  }

  private static DeliveryResult failed(FailureKind kind) {
    return new DeliveryResult.Failed(Failure.of(kind, "for the test"), null);
  }

  /** Runs the passes until an attempt of the task is saved. */
  private void runAttempt(TaskId id) {
    await()
        .until(
            () -> {
              ours.claimer.claimOnce();
              ours.suspects.startOnce();
              ours.completer.flushOnce();
              return ours.delivered().contains(id) && ours.seats.taken() == 0;
            });
  }

  @Test
  void a_task_that_crashes_three_nodes_is_dead_as_poison_whatever_its_retry_policy() {
    TaskId id = createTask();
    for (int crash = 1; crash <= POISON_CRASHES; crash++) {
      claim("dead-" + crash, 1);
      world.store.nodes().mark("dead-" + crash, crash == 1 ? List.of() : List.of(id));
      lapse("dead-" + crash);
      ours.reaper.reapOnce();
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
    TaskId id =
        world.create(TestTask.of("t").payload("{}").target(kafka).retry(MANY_ATTEMPTS).build());
    for (int crash = 1; crash <= 2; crash++) {
      claim("dead-" + crash, 1);
      lapse("dead-" + crash);
      ours.reaper.reapOnce();
    }

    assertThat(fate(id)).isEqualTo("PENDING CRASHED attempt=2 crashes=0");
  }

  @Test
  void concurrent_reapers_count_a_crash_once() throws Exception {
    List<TaskId> ids = createTasks(20);
    claim("dead", 20);
    lapse("dead");

    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      CountDownLatch go = new CountDownLatch(1);
      List<Future<?>> reapers =
          IntStream.range(0, 4)
              .<Future<?>>mapToObj(
                  _ ->
                      threads.submit(
                          () -> {
                            go.await();
                            return ours.reaper.reapOnce();
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
  void a_node_that_renews_its_lease_just_in_time_is_not_reaped() {
    TaskId id = createTask();
    claim("slow", 1);
    lapse("slow");
    var lapsed = world.store.claims().lapsed(10);
    world.sql("UPDATE carillon.node SET lease_until = now() + interval '1 min' WHERE id = 'slow'");

    lapsed.forEach(
        lost ->
            world
                .store
                .claims()
                .reap(
                    lost,
                    (_, _) -> {
                      throw new AssertionError("the node is alive");
                    }));

    assertThat(lapsed).hasSize(1);
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
    assertThat(world.find(id).crashes()).isZero();
  }

  @Test
  void a_suspect_is_blamed_if_its_node_crashes_between_record_and_send() {
    TaskId id = createTask();
    suspect(id, POISON_CRASHES - 1);
    claim("dead", 1);
    world.store.nodes().mark("dead", List.of(id));
    lapse("dead");

    ours.reaper.reapOnce();

    assertThat(fate(id)).isEqualTo("DEAD POISON attempt=1 crashes=3");
  }

  @Test
  void the_recorded_suspects_of_a_crashed_node_cannot_be_changed() {
    TaskId id = createTask();
    claim("dead", 1);
    world.store.nodes().mark("dead", List.of(id));
    lapse("dead");

    assertThat(world.store.nodes().mark("dead", List.of())).isFalse();

    assertThat(suspectsOf("dead")).contains(id.toString());
  }

  @Test
  void a_claim_unknown_to_its_own_node_is_not_a_crash() {
    TaskId id = createTask();
    claim("another", 1);
    world.sql("UPDATE carillon.claim SET node = 'ours'");

    ours.lostClaims.findOnce();

    assertThat(fate(id)).isEqualTo("PENDING LEASE_LOST attempt=1 crashes=0");
  }

  @Test
  void a_node_that_was_only_cut_off_blames_no_task() {
    TaskId id = createTask();
    claim("away", 1);
    lapse("away");
    world.store.nodes().survive("away");

    ours.reaper.reapOnce();

    assertThat(fate(id)).isEqualTo("PENDING LEASE_LOST attempt=1 crashes=0");
  }

  @Test
  void tasks_of_a_stopped_node_lose_no_attempt_and_get_no_blame() {
    TaskId id = createTask();
    claim("stopped", 1);
    world.store.nodes().leave("stopped");

    await()
        .until(
            () -> {
              ours.reaper.reapOnce();
              return world.state(id) == TaskState.PENDING;
            });

    assertThat(fate(id)).isEqualTo("PENDING SHUTDOWN attempt=0 crashes=0");
  }

  @Test
  void a_reaper_with_a_lapsed_lease_reaps_no_node() {
    TaskId id = createTask();
    claim("dead", 1);
    lapse("dead");
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
  void suspects_start_in_groups_that_are_recorded_before_and_cleared_after() {
    int size = GROUPS.size(1);
    List<TaskId> ids = createTasks(size + 3);
    ids.forEach(id -> suspect(id, 1));
    CountDownLatch release = new CountDownLatch(1);
    Map<TaskId, String> marks = new ConcurrentHashMap<>();
    ours.deliverer.respondWith(
        task -> {
          marks.put(task.id(), suspectsOf("ours"));
          Latches.await(release);
          return new DeliveryResult.Accepted(200, null);
        });
    ours.claimUntilTaken(ids.size());

    ours.suspects.startOnce();
    await().until(() -> marks.size() == size);
    assertThat(ours.suspects.startOnce()).isPositive();
    assertThat(ours.delivered()).hasSize(size);
    assertThat(marks.values())
        .allMatch(marked -> ours.delivered().stream().allMatch(id -> marked.contains("" + id)));
    assertThat(ours.suspects.count())
        .extracting(Suspects.Count::waiting, Suspects.Count::running)
        .containsExactly(3, size);

    release.countDown();
    await()
        .until(
            () -> {
              ours.completer.flushOnce();
              ours.suspects.startOnce();
              return ours.seats.taken() == 0;
            });
    ours.suspects.startOnce();

    assertThat(ours.delivered()).containsExactlyInAnyOrderElementsOf(ids);
    assertThat(marks).allSatisfy((id, marked) -> assertThat(marked).contains(id.toString()));
    assertThat(suspectsOf("ours")).isEqualTo("{}");
    assertThat(ids).allMatch(id -> world.state(id) == TaskState.COMPLETED);
  }

  @Test
  void a_suspect_leaves_its_group_only_when_its_outcome_is_saved() {
    int size = GROUPS.size(1);
    List<TaskId> ids = createTasks(size + 1);
    ids.forEach(id -> suspect(id, 1));
    ours.claimUntilTaken(ids.size());
    ours.suspects.startOnce();
    await().until(() -> ours.seats.waitingToBeSaved() == size);

    ours.suspects.startOnce();

    assertThat(ours.delivered()).hasSize(size);
    assertThat(ours.delivered()).allMatch(id -> suspectsOf("ours").contains(id.toString()));
  }

  @Test
  void one_suspect_beyond_the_group_may_start_after_each_second_without_a_crash() {
    int size = GROUPS.size(1);
    List<TaskId> ids = createTasks(size + 2);
    ids.forEach(id -> suspect(id, 1));
    ours.deliverer.hang();
    ours.claimUntilTaken(ids.size());

    ours.suspects.startOnce();
    ours.suspects.startOnce();
    await().until(() -> ours.delivered().size() == size);
    await()
        .until(
            () -> {
              ours.suspects.startOnce();
              return ours.delivered().size() > size;
            });

    assertThat(ours.delivered()).hasSize(size + 1);
    assertThat(ours.delivered()).allMatch(id -> suspectsOf("ours").contains(id.toString()));
  }

  @Test
  void a_suspect_on_its_last_chance_runs_alone() {
    TaskId harmless = createTask();
    TaskId lastChance = createTask();
    TaskId behind = createTask();
    suspect(harmless, 1);
    suspect(lastChance, POISON_CRASHES - 1);
    suspect(behind, 1);
    CountDownLatch release = new CountDownLatch(1);
    ours.deliverer.respondWith(
        task -> {
          if (task.id().equals(harmless)) {
            Latches.await(release);
          }
          return new DeliveryResult.Accepted(200, null);
        });
    ours.claimUntilTaken(3);
    ours.suspects.startOnce();
    ours.suspects.startOnce();
    await().until(() -> ours.delivered().size() == 1);
    assertThat(suspectsOf("ours")).isEqualTo("{" + harmless + "}");

    release.countDown();
    await()
        .until(
            () -> {
              ours.completer.flushOnce();
              ours.suspects.startOnce();
              return ours.seats.taken() == 0;
            });

    assertThat(ours.delivered()).containsExactly(harmless, lastChance, behind);
  }

  @Test
  void two_suspects_on_their_last_chance_never_run_together() {
    List<TaskId> ids = createTasks(2);
    ids.forEach(id -> suspect(id, POISON_CRASHES - 1));
    ours.deliverer.hang();
    ours.claimUntilTaken(ids.size());

    await()
        .pollDelay(Duration.ZERO)
        .during(Duration.ofMillis(1_500)) // longer than a trial
        .until(
            () -> {
              ours.suspects.startOnce();
              return ours.delivered().size() <= 1;
            });

    assertThat(ours.delivered()).hasSize(1);
    assertThat(suspectsOf("ours")).isEqualTo("{" + ours.delivered().getFirst() + "}");
  }

  @Test
  void a_reaper_that_was_cut_off_gives_other_nodes_time_to_renew_their_leases() {
    TaskId id = createTask();
    claim("slower", 1);
    lapse("slower");
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
    lapse("slower");
    name.set("ours-again");

    reaper.reapOnce();
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);

    await()
        .until(
            () -> {
              reaper.reapOnce();
              return world.state(id) == TaskState.PENDING;
            });
  }

  @Test
  void other_tasks_do_not_wait_for_suspects_and_a_node_claims_few_suspects() {
    List<TaskId> suspects = createTasks(50);
    suspects.forEach(id -> suspect(id, 1));
    List<TaskId> others = createTasks(50);

    await()
        .until(
            () -> {
              world.sweep();
              ours.claimer.claimOnce();
              ours.completer.flushOnce();
              return others.stream().allMatch(id -> world.state(id) == TaskState.COMPLETED);
            });

    assertThat(ours.seats.taken()).isBetween(1, GROUPS.maxWaiting());
    assertThat(ours.delivered()).containsExactlyInAnyOrderElementsOf(others);
    assertThat(suspects.stream().filter(id -> world.state(id) == TaskState.PENDING).count())
        .isGreaterThanOrEqualTo(50 - GROUPS.maxWaiting());
  }

  @Test
  void waiting_and_running_suspects_are_counted() {
    int room = GROUPS.maxWaiting();
    List<TaskId> ids = createTasks(room + 7);
    ids.forEach(id -> suspect(id, 1));
    createTasks(5);
    ours.deliverer.hang();
    await()
        .until(
            () -> {
              world.sweep();
              ours.claimer.claimOnce();
              return ours.seats.taken() == room + 5;
            });

    ours.suspects.startOnce();

    int running = GROUPS.size(1);
    assertThat(ours.suspects.count())
        .extracting(Suspects.Count::waiting, Suspects.Count::running)
        .containsExactly(ids.size() - running, running);
    assertThat(ours.suspects.count().oldest()).isBeforeOrEqualTo(world.clock.instant());
  }

  @Test
  void a_suspect_cancelled_while_it_waits_for_its_group_is_not_delivered() {
    TaskId id = createTask();
    suspect(id, 1);
    await()
        .until(
            () -> {
              world.sweep();
              ours.claimer.claimOnce();
              return world.state(id) == TaskState.RUNNING;
            });

    world.cancel(id);
    ours.suspects.startOnce();
    ours.completer.flushOnce();

    assertThat(world.state(id)).isEqualTo(TaskState.CANCELLED);
    assertThat(ours.delivered()).isEmpty();
    ours.suspects.startOnce();
    assertThat(suspectsOf("ours")).isEqualTo("{}");
  }

  @Test
  void free_places_for_suspects_are_filled_without_a_sweep() {
    List<TaskId> ids = createTasks(GROUPS.maxWaiting() + 7);
    ids.forEach(id -> suspect(id, 1));
    world.sweep();

    await()
        .until(
            () -> {
              ours.claimer.claimOnce();
              ours.suspects.startOnce();
              ours.completer.flushOnce();
              return ids.stream().allMatch(id -> world.state(id) == TaskState.COMPLETED);
            });
  }

  @Test
  void the_reaper_reports_suspects_and_poison_tasks_of_a_crashed_node() {
    List<TaskId> ids = createTasks(3);
    suspect(ids.getFirst(), POISON_CRASHES - 1);
    claim("dead", 3);
    world.store.nodes().mark("dead", List.of(ids.getFirst()));
    lapse("dead");
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
  void a_stopping_node_releases_its_suspects_and_their_attempts_do_not_count() {
    List<TaskId> ids = createTasks(2);
    ids.forEach(id -> suspect(id, 2));
    ours.claimUntilTaken(ids.size());
    ours.deliverer.hang();
    ours.suspects.startOnce();
    await().until(() -> ours.delivered().size() == 1);

    ours.suspects.close();
    ours.dispatcher.interrupt();
    ours.dispatcher.close();
    ours.completer.flushOnce();

    assertThat(ids).allMatch(id -> fate(id).equals("PENDING SHUTDOWN attempt=0 crashes=2"));
    assertThat(ours.seats.taken()).isZero();
    assertThat(world.counters.count(FailureKind.SHUTDOWN)).isEqualTo(2);
  }

  @Test
  void a_suspect_claimed_under_a_lost_lease_is_not_sent() {
    TaskId id = createTask();
    suspect(id, 1);
    ours.claimUntilTaken(1);
    lapse("ours");

    ours.suspects.startOnce();
    ours.completer.flushOnce();

    assertThat(ours.delivered()).isEmpty();
    assertThat(suspectsOf("ours")).isEqualTo("{}");
    assertThat(ours.seats.taken()).isZero();
  }

  @Test
  void a_task_that_crashes_in_its_last_attempt_is_dead_but_not_poison() {
    RetryPolicy once =
        new RetryPolicy(
            1,
            null,
            RetryPolicy.Backoff.FIXED,
            Duration.ofMillis(1),
            Duration.ofMillis(1),
            RetryPolicy.Jitter.NONE);
    TaskId id = world.create(TestTask.of("t").payload("{}").target(HTTP).retry(once).build());
    claim("dead", 1);
    lapse("dead");

    ours.reaper.reapOnce();

    assertThat(fate(id)).isEqualTo("DEAD CRASHED attempt=1 crashes=1");
  }

  @Test
  void a_lost_worker_counts_as_a_lost_lease_and_not_as_a_crash() {
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
    world.sql(
        """
        UPDATE carillon.claim
        SET lease_until = now() - interval '1 s',
            check_at = now() - interval '1 s'
        """);

    ours.reaper.reapOnce();

    assertThat(fate(id)).isEqualTo("PENDING LEASE_LOST attempt=1 crashes=0");
  }
}
