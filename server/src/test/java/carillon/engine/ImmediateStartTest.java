package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.engine.upkeep.Expirer;
import carillon.engine.upkeep.Reaper;
import carillon.model.Pass;
import carillon.model.Signal;
import carillon.model.TaskId;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Shards;
import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.AlertSetting;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import carillon.store.catalog.Tenants;
import carillon.store.db.Combiner;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.StoreException;
import carillon.store.db.Tx;
import carillon.store.stats.Activity;
import carillon.store.tasks.ChangeResult;
import carillon.store.tasks.TaskInserts;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.FakePublisher;
import carillon.testkit.Latches;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tasks that are claimed in the transaction that creates them, and never are in the queue. */
class ImmediateStartTest {

  private static final int SEATS = 4;
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);
  private static final RetryPolicy AT_ONCE =
      new RetryPolicy(
          20,
          null,
          RetryPolicy.Backoff.FIXED,
          Duration.ofMillis(1),
          Duration.ofMillis(1),
          RetryPolicy.Jitter.NONE);

  private final List<EngineEvent> events = new CopyOnWriteArrayList<>();
  private final FakeDeliverer deliverer = new FakeDeliverer();
  private final Signal freed = new Signal();
  private final Seats seats = new Seats(SEATS, SEATS, 1, freed);
  private final AtomicReference<NodeLease> lease = new AtomicReference<>(leaseOf("node"));
  private final CountDownLatch ended = new CountDownLatch(1);
  private World world;
  private ManualNode node;
  private Claimer claimer;
  private LostClaims lostClaims;
  private @Nullable Engine engine;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
    world.sql(
        """
        CREATE TABLE carillon.queued (task uuid);
        CREATE FUNCTION carillon.note() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO carillon.queued VALUES (NEW.id); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT ON carillon.queue FOR EACH ROW EXECUTE FUNCTION carillon.note()
        """);
    node = new ManualNode(world, lease::get, deliverer, events::add);
    claimer = node.claimer(seats);
    lostClaims =
        new LostClaims(
            world.store.claims(),
            node.lease,
            node.openClaims::isKnown,
            new ReapDecision(world.clock, 3),
            _ -> {});
    world.tasks.claimImmediately(claimer);
    claimer.claimOnce(); // finds nothing, so the claimer is not behind
  }

  @AfterEach
  void close() throws InterruptedException {
    releaseCommits();
    ended.countDown();
    if (engine != null) {
      engine.stop();
    }
    node.close();
    world.close();
  }

  private static NodeLease leaseOf(String node) {
    return NodeLease.renewed(node, System.nanoTime(), Duration.ofMinutes(1));
  }

  private static NewTask task(String type) {
    return TestTask.of(type).payload("{}").target(HTTP).retry(AT_ONCE).build();
  }

  /** From now on every attempt waits until {@link #endAttempts}. */
  private void holdAttempts() {
    deliverer.respondWith(
        _ -> {
          Latches.await(ended);
          return new DeliveryResult.Accepted(200, "ok");
        });
  }

  private void endAttempts() {
    ended.countDown();
    await().until(() -> seats.running() == 0);
    node.completer.flushOnce();
  }

  private List<TaskId> delivered() {
    return deliverer.delivered().stream().map(ClaimedTask::id).toList();
  }

  /** Whether the task was ever in the queue. */
  private boolean wasQueued(TaskId id) {
    return count("carillon.queued WHERE task = '" + id + "'") > 0;
  }

  private int count(String from) {
    return Integer.parseInt(world.value("SELECT count(*) FROM " + from));
  }

  private void assertStarted(TaskId id) {
    assertThat(wasQueued(id)).as("was in the queue").isFalse();
    await().until(() -> delivered().contains(id));
  }

  private void assertWaits(TaskId id) {
    assertThat(wasQueued(id)).as("is in the queue").isTrue();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
    assertThat(world.find(id).attempt()).isZero();
    assertThat(delivered()).doesNotContain(id);
  }

  // ---- A task that starts immediately ----

  @Test
  void a_task_that_is_due_runs_without_ever_being_in_the_queue() {
    holdAttempts();

    TaskId id = world.create(task("t"));

    assertStarted(id);
    TaskView running = world.find(id);
    assertThat(running.state()).isEqualTo(TaskState.RUNNING);
    assertThat(running.attempt()).isEqualTo(1);
    assertThat(running.fence()).isEqualTo(1);
    assertThat(running.leasedBy()).isEqualTo("node");
    assertThat(running.startedAt()).isAfterOrEqualTo(running.dueAt());
    assertThat(seats.running()).isEqualTo(1);
    assertThat(count("carillon.claim WHERE node = 'node'")).isEqualTo(1);

    endAttempts();

    TaskView completed = world.find(id);
    assertThat(completed.state()).isEqualTo(TaskState.COMPLETED);
    assertThat(completed.attempt()).isEqualTo(1);
    assertThat(completed.startedAt()).isEqualTo(running.startedAt());
    assertThat(wasQueued(id)).isFalse();
    assertThat(count("carillon.claim")).isZero();
    assertThat(seats.free()).isEqualTo(SEATS);
    TaskStory story = world.tasks.story(World.TENANT, id).orElseThrow();
    assertThat(story.transitions())
        .extracting(each -> each.from() + " " + each.to() + " " + each.by())
        .containsExactly("PENDING RUNNING node", "RUNNING COMPLETED node");
  }

  @Test
  void the_cancel_of_a_task_that_started_immediately_is_requested() {
    deliverer.respondWith(
        _ -> {
          Latches.await(ended);
          return new DeliveryResult.Failed(Failure.of(FailureKind.TIMEOUT, "late"), null);
        });
    TaskId id = world.create(task("t"));
    assertStarted(id);

    assertThat(world.cancel(id)).isInstanceOf(ChangeResult.Requested.class);

    endAttempts();
    assertThat(world.state(id)).isEqualTo(TaskState.CANCELLED);
    assertThat(wasQueued(id)).isFalse();
  }

  @Test
  void a_task_that_started_immediately_is_retried_from_the_queue() {
    deliverer.respondWith(
        task ->
            task.attempt() == 1
                ? new DeliveryResult.Failed(Failure.of(FailureKind.TIMEOUT, "late"), null)
                : new DeliveryResult.Accepted(200, "ok"));
    TaskId id = world.create(task("t"));
    assertStarted(id);

    await()
        .until(
            () -> {
              claimer.claimOnce();
              node.completer.flushOnce();
              return world.state(id) == TaskState.COMPLETED;
            });

    assertThat(wasQueued(id)).isTrue();
    assertThat(deliverer.delivered())
        .extracting(each -> each.attempt() + " by fence " + each.lease().fence())
        .containsExactly("1 by fence 1", "2 by fence 2");
  }

  @Test
  void a_task_that_starts_immediately_is_delivered_with_everything_that_a_claim_reads() {
    NewTask task =
        TestTask.of("t")
            .key("k")
            .priority(7)
            .payload("{\"ä\":  [1, 2]}")
            .target(HTTP)
            .retry(AT_ONCE)
            .build();
    holdAttempts();
    assertStarted(world.create(task));
    world.tasks.claimImmediately(_ -> List.of());
    TaskId claimed = world.create(task);
    assertThat(wasQueued(claimed)).isTrue();
    world.awaitDue(claimed);
    claimer.claimOnce();
    await().until(() -> delivered().size() == 2);

    assertThat(deliverer.delivered().getFirst())
        .usingRecursiveComparison()
        .ignoringFields("id", "lease", "dueAt", "readyAt", "claimedAt")
        .isEqualTo(deliverer.delivered().getLast());
    ClaimedTask first = deliverer.delivered().getFirst();
    TaskView view = world.find(first.id());
    assertThat(first.dueAt()).isEqualTo(view.dueAt());
    assertThat(first.claimedAt()).isEqualTo(view.startedAt());
    assertThat(world.value("SELECT claim FROM carillon.every_task WHERE id = '" + first.id() + "'"))
        .isEqualTo(first.lease().claim().toString());
    assertThat(first.lease().fence()).isEqualTo(view.fence()).isEqualTo(1);
  }

  @Test
  void a_task_that_starts_immediately_is_counted_as_started() {
    Tally tally = new Tally(new Activity(world.db), world.catalog);
    world.db.transitions().listen(tally);
    assertStarted(world.create(task("t")));
    endAttempts();

    tally.flushOnce();

    assertThat(events).contains(new EngineEvent.StartedImmediately(1));

    assertThat(
            world.value(
                """
                SELECT concat_ws(' ', started, completed, (SELECT sum(n) FROM unnest(late) AS n))
                FROM carillon.activity
                WHERE span = 60 AND type = 't'
                """))
        .isEqualTo("1 1 1");
  }

  @Test
  void discarded_tasks_start_immediately() {
    TaskId id = world.discard();

    node.completer.flushOnce();

    assertThat(world.state(id)).isEqualTo(TaskState.COMPLETED);
    assertThat(wasQueued(id)).isFalse();
    assertThat(seats.free()).isEqualTo(SEATS);
  }

  // ---- Tasks that wait instead ----

  @Test
  void a_task_that_is_due_later_waits() {
    Instant dueAt = world.clock.instant().plusSeconds(1);
    TaskId id = world.create(TestTask.of("t").payload("{}").target(HTTP).dueAt(dueAt).build());
    assertWaits(id);

    world.awaitDue(id);
    claimer.claimOnce();

    await().until(() -> delivered().contains(id));
    assertThat(world.find(id).startedAt()).isAfterOrEqualTo(dueAt);
  }

  @Test
  void a_task_that_is_due_later_does_not_hold_up_a_new_one() {
    TaskId later =
        world.create(
            TestTask.of("t").target(HTTP).dueAt(world.clock.instant().plusSeconds(60)).build());

    assertStarted(world.create(task("t")));

    assertWaits(later);
  }

  static Stream<NewTask> tasksThatNeedAClaimer() {
    return Stream.of(
        TestTask.of("t").target(HTTP).concurrencyKey("one-at-a-time").build(),
        TestTask.of("t").target(new Target.Pull()).build(),
        TestTask.of("t").build(), // workers pull tasks of a type without a target
        TestTask.of("t").target(kafka(Target.Complete.ON_PUBLISH)).build(),
        TestTask.of("t").target(kafka(Target.Complete.ON_REPORT)).build());
  }

  private static Target kafka(Target.Complete complete) {
    return new Target.Kafka("main", "orders", complete, null);
  }

  @ParameterizedTest
  @MethodSource("tasksThatNeedAClaimer")
  void a_task_that_more_must_be_decided_about_waits(NewTask task) {
    FakePublisher broker = new FakePublisher(new BrokerName(BrokerName.Kind.KAFKA, "main"));
    broker.hold();
    world.cancel(createWaiting("other"));
    Engine engine = startEngine(() -> ClusterView.ALONE, broker);
    await().until(() -> wouldStart(engine, laneOf("other")));

    assertThat(wasQueued(world.create(task))).isTrue();
  }

  @Test
  void a_task_of_a_paused_type_waits() {
    assertStarted(world.create(task("t")));
    world.db.inTransaction(
        tx -> world.store.types().setPaused(tx, World.TENANT, "t", true, "test"));
    TaskId id = world.create(task("t"));
    assertWaits(id);

    world.db.inTransaction(
        tx -> world.store.types().setPaused(tx, World.TENANT, "t", false, "test"));
    TaskId next = world.create(task("t"));

    assertThat(wasQueued(next)).as("behind the one that waits").isTrue();
    assertStarted(world.create(task("other")));
  }

  @Test
  void a_task_of_a_paused_tenant_waits() {
    assertStarted(world.create(task("t")));
    var paused = new Tenants.Settings(false, true, 1, new AlertSetting.Inherited(), null);
    world.store.tenants().put("default", paused, "test");

    assertWaits(world.create(task("t")));
  }

  private TaskId createIn(Tx tx) {
    return ((Tasks.CreateResult.Created) world.tasks.create(tx, World.TENANT, task("t")))
        .task()
        .id();
  }

  @Test
  void a_task_created_in_a_transaction_of_its_own_starts_after_the_commit() {
    holdAttempts();
    AtomicReference<TaskId> created = new AtomicReference<>();

    TaskId id =
        world.db.inTransaction(
            tx -> {
              created.set(createIn(tx));
              assertThat(seats.free()).isEqualTo(SEATS - 1);
              assertThat(seats.running()).isZero();
              return created.get();
            });

    assertThat(seats.running()).isEqualTo(1);
    assertStarted(id);
    endAttempts();
  }

  @Test
  void a_transaction_that_fails_after_the_creation_frees_its_seat() {
    assertThatThrownBy(
            () ->
                world.db.inTransaction(
                    tx -> {
                      createIn(tx);
                      throw new IllegalStateException("no");
                    }))
        .hasMessage("no");

    assertNothingStored();
    assertStarted(world.create(task("t")));
  }

  @Test
  void a_transaction_that_is_repeated_starts_its_task_once() {
    AtomicInteger tries = new AtomicInteger();

    TaskId id =
        world.db.inTransaction(
            tx -> {
              TaskId one = createIn(tx);
              if (tries.incrementAndGet() == 1) {
                throw new StoreException("a deadlock", "40P01", null);
              }
              return one;
            });

    assertStarted(id);
    assertThat(delivered()).containsExactly(id);
    assertThat(count("carillon.task")).isEqualTo(1);
    assertThat(seats.free()).isEqualTo(SEATS);
  }

  @Test
  void a_batch_waits() {
    List<TaskId> batch =
        world.db.inTransaction(
            tx ->
                ((Tasks.BatchResult.Created)
                        world.tasks.createAll(tx, World.TENANT, Collections.nCopies(2, task("t"))))
                    .ids());

    batch.forEach(this::assertWaits);
  }

  @Test
  void a_task_waits_for_a_free_seat_and_none_overtakes_it() {
    Seats one = new Seats(1);
    Claimer claimer = node.claimer(one);
    world.tasks.claimImmediately(claimer);
    claimer.claimOnce();
    holdAttempts();
    TaskId first = world.create(task("t"));
    assertStarted(first);

    TaskId a = world.create(task("t"));
    TaskId b = world.create(task("t"));
    assertWaits(a);
    assertWaits(b);
    ended.countDown();
    await().until(() -> one.running() == 0);
    node.completer.flushOnce();
    assertThat(one.free()).isEqualTo(1);
    TaskId c = world.create(task("t"));
    assertWaits(c); // although a seat is free

    List<TaskId> all = List.of(first, a, b, c);
    for (int started = 2; started <= all.size(); started++) {
      int expected = started;
      await()
          .until(
              () -> {
                claimer.claimOnce();
                return delivered().size() == expected;
              });
      assertThat(delivered()).isEqualTo(all.subList(0, started));
      await().until(() -> one.running() == 0);
      node.completer.flushOnce();
    }
  }

  @Test
  void a_task_does_not_overtake_others_of_its_lane_that_the_claimer_has_not_seen_yet() {
    world.tasks.claimImmediately(_ -> List.of());
    TaskId earlier = world.create(task("t"));
    world.awaitDue(earlier);
    world.tasks.claimImmediately(claimer);

    assertWaits(world.create(task("t")));

    assertStarted(world.create(task("other")));
    assertWaits(earlier);
  }

  @Test
  void a_task_waits_while_the_claimer_is_behind_in_any_lane() {
    holdAttempts();
    world.tasks.claimImmediately(_ -> List.of());
    List<TaskId> busy =
        IntStream.range(0, 2 * SEATS).mapToObj(_ -> world.create(task("busy"))).toList();
    busy.forEach(world::awaitDue);
    world.tasks.claimImmediately(claimer);

    claimer.claimOnce();

    assertThat(seats.free()).as("seats left for new tasks").isEqualTo(SEATS / 2);
    TaskId other = world.create(task("other"));
    assertWaits(other);
    ended.countDown();
    await()
        .until(
            () -> {
              claimer.claimOnce();
              node.completer.flushOnce();
              return world.state(other) == TaskState.COMPLETED && count("carillon.queue") == 0;
            });
    claimer.claimOnce();
    assertStarted(world.create(task("other")));
  }

  @Test
  void a_claimer_keeps_up_if_more_becomes_due_during_each_pass() {
    AtomicBoolean isPassing = new AtomicBoolean(true);
    Claimer steady =
        node.claimer(
            seats,
            Claimer.Lanes.ALL,
            (tasks, nodeId) -> {
              if (isPassing.get()) {
                world.awaitDue(createWaiting("steady"));
              }
              node.dispatcher.send(tasks, nodeId);
            });
    world.awaitDue(createWaiting("steady"));

    Pass pass = steady.claimOnce();
    isPassing.set(false);

    assertThat(pass.delay().isPositive()).as("the next pass waits").isFalse();
    world.tasks.claimImmediately(steady);
    assertStarted(world.create(task("other")));
  }

  @Test
  void a_task_waits_if_the_lease_of_the_node_may_have_lapsed() {
    assertStarted(world.create(task("t")));
    lease.set(new NodeLease("node", System.nanoTime()));

    assertWaits(world.create(task("t")));
  }

  // ---- The whole engine ----

  private Engine startEngine(Supplier<ClusterView> view, FakePublisher... brokers) {
    Engine started =
        Engines.start(
            world,
            "node",
            new Engine.Transports(deliverer, List.of(brokers)),
            view,
            new EngineConfig(SEATS, Duration.ZERO, 3, Duration.ofMinutes(1)),
            _ -> {});
    engine = started;
    world.tasks.claimImmediately(started);
    return started;
  }

  private Lane laneOf(String type) {
    return world.catalog.lanes().stream()
        .filter(lane -> lane.type().equals(type))
        .findFirst()
        .orElseThrow();
  }

  private static boolean wouldStart(Engine engine, Lane lane) {
    List<TaskInserts.ImmediateClaim> starts = engine.reserve(Map.of(lane, 1));
    starts.forEach(TaskInserts.ImmediateClaim::failed);
    return !starts.isEmpty();
  }

  @Test
  void an_engine_that_has_nothing_to_do_starts_new_tasks_immediately() {
    world.cancel(createWaiting("t"));
    Engine engine = startEngine(() -> ClusterView.ALONE);
    await().until(() -> wouldStart(engine, laneOf("t")));

    TaskId id = world.create(task("t"));

    assertThat(wasQueued(id)).isFalse();
    await().until(() -> world.state(id) == TaskState.COMPLETED);
    await().until(() -> engine.inFlight() + engine.unsaved() == 0);
    assertThat(count("carillon.claim")).isZero();
  }

  /** Creates a task that does not start immediately. */
  private TaskId createWaiting(String type) {
    world.tasks.claimImmediately(_ -> List.of());
    return world.create(task(type));
  }

  @Test
  void an_engine_that_stops_starts_no_new_tasks() {
    world.cancel(createWaiting("t"));
    Engine engine = startEngine(() -> ClusterView.ALONE);
    await().until(() -> wouldStart(engine, laneOf("t")));

    engine.stopClaiming();

    assertWaits(world.create(task("t")));
  }

  @Test
  void a_task_of_a_lane_that_another_node_owns_waits() {
    world.cancel(createWaiting("ours"));
    world.cancel(createWaiting("theirs"));
    int theirs = Shards.of(laneOf("theirs").id());
    Engine engine = startEngine(() -> new ClusterView(null, ~(1L << theirs), false));
    await().until(() -> wouldStart(engine, laneOf("ours")));

    assertWaits(world.create(task("theirs")));
  }

  // ---- Tasks that are created together ----

  /** Makes the commit of every claim run a statement. */
  private void onCommit(String statement) {
    world.sql("DROP TRIGGER IF EXISTS on_commit ON carillon.claim");
    world.sql(
        "CREATE OR REPLACE FUNCTION on_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            + statement
            + "; RETURN NULL; END $$");
    world.sql(
        "CREATE CONSTRAINT TRIGGER on_commit AFTER INSERT ON carillon.claim"
            + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION on_commit()");
  }

  /** Blocks the commit of every claim, also beyond the short lock timeout of the session. */
  private void holdCommits() {
    onCommit(
        "PERFORM set_config('lock_timeout', '0', true); PERFORM pg_advisory_xact_lock_shared(42)");
    world.value("SELECT pg_advisory_lock(42)");
  }

  private void releaseCommits() {
    world.value("SELECT pg_advisory_unlock_all()");
  }

  /** The caller of a creation that has not returned yet. */
  private record Creation(Thread caller, CompletableFuture<TaskId> id) {}

  private Creation begin(NewTask task) {
    var id = new CompletableFuture<TaskId>();
    Thread caller =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    id.complete(world.create(task));
                  } catch (RuntimeException | Error e) {
                    id.completeExceptionally(e);
                  }
                });
    return new Creation(caller, id);
  }

  private static final String COMMITTING =
      "pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'";

  /** Begins to create a task of the type {@code t}; its transaction waits in its commit. */
  private Creation beginAndHold() {
    holdCommits();
    Creation held = begin(task("t"));
    await().until(() -> count(COMMITTING) == 1);
    return held;
  }

  /** Creates the tasks in one transaction: they gather while an earlier one commits. */
  private List<CompletableFuture<TaskId>> createTogether(NewTask... tasks) {
    for (NewTask task : tasks) {
      world.cancel(createWaiting(task.spec().type())); // its lane is created separately
    }
    claimer.claimOnce();
    world.tasks.claimImmediately(claimer);
    Creation earlier = beginAndHold();
    List<CompletableFuture<TaskId>> ids = new ArrayList<>();
    for (NewTask task : tasks) {
      Creation creation = begin(task);
      await().until(() -> waitsInCombiner(creation.caller()));
      ids.add(creation.id());
    }
    releaseCommits();
    assertStarted(earlier.id().join());
    return ids;
  }

  private static boolean waitsInCombiner(Thread caller) {
    List<String> classes =
        Arrays.stream(caller.getStackTrace()).map(StackTraceElement::getClassName).toList();
    return caller.getState() == Thread.State.WAITING
        && classes.contains(Combiner.class.getName())
        && !classes.contains(Db.class.getName());
  }

  /** How many tasks each claim has. */
  private String claims() {
    return world.value(
        "SELECT string_agg(cardinality(tasks)::text, ' ' ORDER BY cardinality(tasks))"
            + " FROM carillon.claim");
  }

  @Test
  void tasks_created_together_share_a_claim() {
    holdAttempts();

    createTogether(task("t"), task("t"), task("other")).forEach(id -> assertStarted(id.join()));

    assertThat(claims()).isEqualTo("1 3");
    assertThat(seats.running()).isEqualTo(4);
    endAttempts();
    assertThat(claims()).isEqualTo("null");
    assertThat(seats.free()).isEqualTo(SEATS);
  }

  @Test
  void tasks_created_together_wait_if_there_are_not_enough_seats_for_all_of_their_lane() {
    holdAttempts();

    List<CompletableFuture<TaskId>> ids =
        createTogether(task("t"), task("t"), task("t"), task("t"), task("other"));

    ids.subList(0, 4).forEach(id -> assertWaits(id.join()));
    assertStarted(ids.getLast().join());
    assertThat(seats.running()).isEqualTo(2);
  }

  @Test
  void tasks_with_too_much_payload_for_one_statement_wait() {
    holdAttempts();
    String large = "\"" + "x".repeat(3 << 20) + "\"";
    NewTask task = TestTask.of("t").payload(large).target(HTTP).build();

    List<CompletableFuture<TaskId>> ids = createTogether(task, task);

    assertStarted(ids.getFirst().join());
    assertWaits(ids.getLast().join());
  }

  @Test
  void a_task_that_cannot_be_stored_does_not_keep_its_neighbours_from_starting() {
    holdAttempts();
    NewTask invalid =
        TestTask.of("t").payload("\"PostgreSQL cannot store \0\"").target(HTTP).build();

    List<CompletableFuture<TaskId>> ids = createTogether(task("t"), invalid, task("other"));

    assertThatThrownBy(ids.get(1)::join).hasCauseInstanceOf(StoreException.class);
    assertStarted(ids.get(0).join());
    assertStarted(ids.get(2).join());
    assertThat(seats.running()).isEqualTo(3);
    endAttempts();
    assertThat(seats.free()).isEqualTo(SEATS);
    assertThat(count("carillon.task WHERE state = 'COMPLETED'")).isEqualTo(3);
  }

  // ---- Failures ----

  private void assertNothingStored() {
    assertThat(count("carillon.task")).isZero();
    assertThat(count("carillon.queue")).isZero();
    assertThat(count("carillon.claim")).isZero();
    assertThat(deliverer.delivered()).isEmpty();
    assertThat(seats.free()).isEqualTo(SEATS);
    assertThat(seats.running()).isZero();
  }

  @Test
  void a_transaction_that_fails_stores_nothing_and_frees_its_seats() {
    onCommit("RAISE EXCEPTION 'no'");

    assertThatThrownBy(() -> world.create(task("t"))).isInstanceOf(StoreException.class);

    assertNothingStored();
    onCommit("NULL");
    assertStarted(world.create(task("t")));
  }

  @Test
  void a_connection_lost_before_the_commit_leaves_nothing_and_frees_its_seats() {
    Creation held = beginAndHold();
    assertThat(seats.free()).isEqualTo(SEATS - 1);

    world.value("SELECT pg_terminate_backend(pid) FROM " + COMMITTING);

    assertThatThrownBy(held.id()::join).hasCauseInstanceOf(StoreException.class);
    assertNothingStored();
  }

  @Test
  void seats_that_a_failed_creation_frees_wake_the_claimer() {
    AtomicInteger wakeUps = new AtomicInteger();
    freed.add(wakeUps::incrementAndGet);
    assertThat(seats.tryTake(SEATS - 1)).isTrue();
    Creation held = beginAndHold();
    assertThat(seats.free()).isZero();

    world.value("SELECT pg_terminate_backend(pid) FROM " + COMMITTING);

    assertThatThrownBy(held.id()::join).hasCauseInstanceOf(StoreException.class);
    assertThat(wakeUps).hasValue(1);
    seats.returnUnused(SEATS - 1);
  }

  @Test
  void a_claim_is_known_to_its_node_until_its_tasks_are_started() {
    AtomicInteger searched = new AtomicInteger();
    startWith(
        (start, tasks) -> {
          lostClaims.findOnce();
          searched.incrementAndGet();
          start.created(tasks);
        });
    holdAttempts();

    TaskId id = world.create(task("t"));

    assertThat(searched).hasValue(1);
    assertStarted(id);
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
    assertThat(world.find(id).fence()).isEqualTo(1);
  }

  /** What happens after the commit. */
  private interface AfterCommit {
    void created(TaskInserts.ImmediateClaim start, List<ClaimedTask> tasks);
  }

  private void startWith(AfterCommit after) {
    startWith(claimer, after);
  }

  private void startWith(Claimer claimer, AfterCommit after) {
    world.tasks.claimImmediately(
        lanes ->
            claimer.reserve(lanes).stream()
                .<TaskInserts.ImmediateClaim>map(start -> new Observed(start, after))
                .toList());
  }

  private record Observed(TaskInserts.ImmediateClaim start, AfterCommit after)
      implements TaskInserts.ImmediateClaim {

    @Override
    public UUID id() {
      return start.id();
    }

    @Override
    public String node() {
      return start.node();
    }

    @Override
    public Set<Lane> lanes() {
      return start.lanes();
    }

    @Override
    public void created(List<ClaimedTask> tasks) {
      after.created(start, tasks);
    }

    @Override
    public void failed() {
      start.failed();
    }
  }

  @Test
  void a_task_whose_commit_had_no_response_is_reclaimed() {
    startWith((start, _) -> start.failed()); // as if the response had been lost
    TaskId id = world.create(task("t"));
    assertThat(wasQueued(id)).isFalse();
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
    assertThat(seats.free()).isEqualTo(SEATS);
    assertThat(node.openClaims.hasAnswerWithin(Duration.ofMinutes(1))).isTrue();

    lostClaims.findOnce();

    assertThat(fate(id)).isEqualTo("PENDING LEASE_LOST attempt=1 crashes=0");
    assertThat(count("carillon.claim")).isZero();
    assertThat(deliverer.delivered()).isEmpty();
    runFromQueue(id);
    assertThat(world.find(id).attempt()).isEqualTo(2);
  }

  /** The state, last failure and counts of a task. */
  private String fate(TaskId id) {
    TaskView task = world.find(id);
    return "%s %s attempt=%d crashes=%d"
        .formatted(task.state(), task.last().failure(), task.attempt(), task.crashes());
  }

  private void runFromQueue(TaskId id) {
    await()
        .until(
            () -> {
              claimer.claimOnce();
              node.completer.flushOnce();
              return world.state(id) == TaskState.COMPLETED;
            });
    assertThat(delivered()).containsExactly(id);
    assertThat(deliverer.delivered().getFirst().lease().fence()).isEqualTo(2);
  }

  static Stream<Throwable> failures() {
    return Stream.of(new IllegalStateException("no"), new OutOfMemoryError("no thread"));
  }

  @ParameterizedTest
  @MethodSource("failures")
  void a_task_that_cannot_be_started_is_still_created_and_reclaimed(Throwable failure) {
    Claimer failing =
        node.claimer(
            seats,
            Claimer.Lanes.ALL,
            (_, _) -> {
              if (failure instanceof Error error) {
                throw error;
              }
              throw (RuntimeException) failure;
            });
    failing.claimOnce();
    world.tasks.claimImmediately(failing);

    TaskId id = world.create(task("t"));

    assertThat(wasQueued(id)).isFalse();
    assertThat(seats.free()).isEqualTo(SEATS);
    lostClaims.findOnce();
    assertThat(fate(id)).isEqualTo("PENDING LEASE_LOST attempt=1 crashes=0");
    runFromQueue(id);
  }

  @Test
  void a_task_claimed_under_a_lease_that_was_lost_meanwhile_is_released() {
    world.node("the next id");
    startWith(
        (start, tasks) -> {
          lease.set(leaseOf("the next id"));
          start.created(tasks);
        });

    TaskId id = world.create(task("t"));

    await().until(() -> seats.running() == 0);
    node.completer.flushOnce();
    assertThat(deliverer.delivered()).isEmpty();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
    assertThat(world.find(id).attempt()).isZero();
    assertThat(wasQueued(id)).as("once released").isTrue();
    assertThat(seats.free()).isEqualTo(SEATS);
  }

  // ---- Crashes ----

  /** Creates a task that its node claims, and then the node dies before it delivers the task. */
  private TaskId createAndDie() {
    world.node("dead");
    var dead = new ManualNode(world, () -> leaseOf("dead"), deliverer, _ -> {});
    Claimer claimer = dead.claimer(new Seats(1), Claimer.Lanes.ALL, (_, _) -> {});
    claimer.claimOnce();
    world.tasks.claimImmediately(claimer);
    TaskId id = world.create(task("t"));
    world.tasks.claimImmediately(_ -> List.of());
    dead.close();
    assertThat(wasQueued(id)).isFalse();
    assertThat(deliverer.delivered()).isEmpty();
    assertThat(world.find(id).leasedBy()).isEqualTo("dead");
    assertThat(count("carillon.claim WHERE node = 'dead'")).isEqualTo(1);
    return id;
  }

  private void reap(int poisonCrashes) {
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s' WHERE id = 'dead'");
    new Reaper(
            world.store.claims(),
            world.store.nodes(),
            node.lease,
            new ReapDecision(world.clock, poisonCrashes),
            _ -> {})
        .reapOnce();
  }

  @Test
  void a_task_whose_node_dies_between_commit_and_delivery_is_delivered_by_another() {
    TaskId id = createAndDie();

    reap(3);

    assertThat(fate(id)).isEqualTo("PENDING CRASHED attempt=1 crashes=1");
    assertThat(count("carillon.claim")).isZero();
    runFromQueue(id);
    assertThat(world.find(id).leasedBy()).isEqualTo("node");
    assertThat(world.find(id).attempt()).isEqualTo(2);
  }

  @Test
  void a_task_that_kills_the_node_that_creates_it_is_poison() {
    TaskId id = createAndDie();

    reap(1);

    assertThat(fate(id)).isEqualTo("DEAD POISON attempt=1 crashes=1");
    assertThat(count("carillon.claim")).isZero();
    assertThat(count("carillon.queue")).isZero();
  }

  // ---- Clocks ----

  /** Tasks of a node whose clock is ahead of the database's. */
  private Tasks tasksAhead(Duration ahead) {
    InstantSource shifted = () -> world.clock.instant().plus(ahead);
    Tasks tasks =
        new Tasks(
            world.db,
            world.catalog,
            world.partitions,
            new DbClock(shifted),
            world.agenda,
            world.counters);
    tasks.claimImmediately(claimer);
    return tasks;
  }

  @Test
  void a_task_due_by_the_clock_of_its_node_waits_until_it_is_due_by_that_of_the_database() {
    Duration ahead = Duration.ofSeconds(3);
    var created = (Tasks.CreateResult.Created) tasksAhead(ahead).create(World.TENANT, task("t"));
    TaskId id = created.task().id();
    assertWaits(id);
    assertThat(count("carillon.claim")).isZero();
    assertThat(seats.free()).isEqualTo(SEATS);
    assertThat(claimer.claimOnce().delay()).isPositive().isLessThanOrEqualTo(ahead);
    assertWaits(id);

    world.awaitDue(id);
    claimer.claimOnce();

    await().until(() -> delivered().contains(id));
    assertThat(deliverer.delivered().getFirst().claimedAt())
        .isAfterOrEqualTo(created.task().dueAt());
  }

  @Test
  void a_task_that_expires_before_it_is_inserted_is_not_started() {
    world.tasks.claimImmediately(
        lanes -> {
          Instant expired = world.clock.instant().plusMillis(20);
          await().until(() -> world.clock.instant().isAfter(expired));
          return claimer.reserve(lanes);
        });

    TaskId id = world.create(TestTask.of("t").target(HTTP).ttl(Duration.ofMillis(10)).build());

    assertWaits(id);
    assertThat(seats.free()).isEqualTo(SEATS);
    new Expirer(world.store.expiry(), _ -> {}).expireOnce();
    assertThat(world.state(id)).isEqualTo(TaskState.EXPIRED);
    claimer.claimOnce();
    assertThat(deliverer.delivered()).isEmpty();
  }
}
