package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.engine.upkeep.Expirer;
import carillon.engine.upkeep.Janitor;
import carillon.engine.upkeep.Reaper;
import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.Callbacks;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DayRange;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import carillon.store.catalog.Types;
import carillon.store.db.StoreException;
import carillon.store.queue.WorkQueue;
import carillon.store.stats.Activity;
import carillon.store.tasks.Counters;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.UniqueTasks;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The loops of a node. Each test calls the passes itself. */
class EngineTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);
  private static final RetryPolicy QUICK =
      new RetryPolicy(
          2,
          null,
          RetryPolicy.Backoff.FIXED,
          Duration.ofMillis(1),
          Duration.ofMillis(1),
          RetryPolicy.Jitter.NONE);

  private final List<EngineEvent> events = new CopyOnWriteArrayList<>();
  private final FakeDeliverer deliverer = new FakeDeliverer();
  private final Seats seats = new Seats(3);
  private World world;
  private ManualNode node;
  private Completer completer;
  private Dispatcher dispatcher;
  private Claimer claimer;
  private Reaper reaper;
  private LostClaims lostClaims;
  private Sweeper sweeper;
  private Expirer expirer;

  @BeforeEach
  void open() {
    world = World.create();
    node = new ManualNode(world, "node", deliverer, events::add);
    completer = node.completer;
    dispatcher = node.dispatcher;
    claimer = node.claimer(seats);
    ReapDecision decision = new ReapDecision(world.clock, 3);
    reaper =
        new Reaper(world.store.claims(), world.store.nodes(), node.lease, decision, events::add);
    lostClaims =
        new LostClaims(
            world.store.claims(), node.lease, node.openClaims::isKnown, decision, events::add);
    sweeper = new Sweeper(world.memory.sweep(), world.clock);
    expirer = new Expirer(world.store.expiry(), events::add);
  }

  @AfterEach
  void close() {
    dispatcher.interrupt();
    dispatcher.close();
    world.close();
  }

  private static NewTask task(@Nullable Instant dueAt, Target target) {
    return TestTask.of("t").dueAt(dueAt).payload("{}").target(target).retry(QUICK).build();
  }

  /** Claims and flushes until the task reaches the state. */
  private TaskView runUntil(TaskId id, TaskState state) {
    await()
        .pollInterval(Duration.ofMillis(1))
        .until(
            () -> {
              claimer.claimOnce();
              completer.flushOnce();
              return world.state(id) == state;
            });
    return world.find(id);
  }

  /** Runs passes of the claimer until this many tasks are delivered. */
  private void claimUntilDelivered(int tasks) {
    await()
        .until(
            () -> {
              claimer.claimOnce();
              return deliverer.delivered().size() == tasks;
            });
  }

  @Test
  void a_due_task_is_delivered_and_completed() {
    TaskId id = world.create(task(null, HTTP));

    TaskView task = runUntil(id, TaskState.COMPLETED);

    assertThat(deliverer.delivered()).extracting(ClaimedTask::id).containsExactly(id);
    assertThat(task.last().output()).isEqualTo("ok");
    assertThat(task.attempt()).isEqualTo(1);
    assertThat(seats.taken()).isZero();
    assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("0");
  }

  @Test
  void the_claimer_waits_until_a_task_is_due() {
    Instant dueAt = world.clock.instant().plusMillis(300);
    TaskId id = world.create(task(dueAt, HTTP));

    Duration wait = claimer.claimOnce().delay();

    assertThat(wait).isPositive().isLessThanOrEqualTo(Duration.ofMillis(301));
    assertThat(deliverer.delivered()).isEmpty();
    TaskView task = runUntil(id, TaskState.COMPLETED);
    assertThat(task.startedAt()).isAfterOrEqualTo(dueAt);
  }

  @Test
  void a_failing_task_uses_all_its_attempts_and_each_is_recorded() {
    deliverer.respondWith(
        _ -> new DeliveryResult.Failed(Failure.of(FailureKind.TIMEOUT, "too slow"), null));
    TaskId id = world.create(task(null, HTTP));

    TaskView task = runUntil(id, TaskState.DEAD);

    assertThat(task.last().error()).isEqualTo("too slow");
    assertThat(world.tasks.story(World.TENANT, id).orElseThrow().attempts())
        .extracting(
            attempt ->
                attempt.attempt() + " " + attempt.outcome() + " " + attempt.result().failure())
        .containsExactly("1 RETRIED TIMEOUT", "2 DEAD TIMEOUT");
    assertThat(world.counters.count(Counters.ClaimEnd.RETRIED)).isEqualTo(1);
    assertThat(world.counters.count(Counters.ClaimEnd.DEAD)).isEqualTo(1);
  }

  @Test
  void a_node_runs_at_most_one_task_per_seat() {
    deliverer.hang();
    for (int i = 0; i < 10; i++) {
      world.create(task(null, HTTP));
    }

    claimUntilDelivered(3);
    claimer.claimOnce();

    assertThat(seats.taken()).isEqualTo(3);
    assertThat(world.value("SELECT count(*) FROM carillon.every_task WHERE state = 'RUNNING'"))
        .isEqualTo("3");
  }

  @Test
  void an_interrupted_task_is_released_and_its_attempt_does_not_count() {
    deliverer.hang();
    TaskId id = world.create(task(null, HTTP));
    claimUntilDelivered(1);

    dispatcher.interrupt();
    dispatcher.close();
    completer.flushOnce();

    TaskView task = world.find(id);
    assertThat(task.state()).isEqualTo(TaskState.PENDING);
    assertThat(task.attempt()).isZero();
    assertThat(task.fence()).isEqualTo(1);
    assertThat(task.last().failure()).isEqualTo(FailureKind.SHUTDOWN);
  }

  @Test
  void tasks_of_a_paused_type_are_not_claimed_until_it_is_resumed() {
    TaskId id = world.create(task(null, HTTP));
    pause(true);
    claimer.claimOnce();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);

    pause(false);

    runUntil(id, TaskState.COMPLETED);
  }

  private void pause(boolean paused) {
    Types.Result result =
        world.db.inTransaction(
            tx -> world.store.types().setPaused(tx, World.TENANT, "t", paused, "test"));
    assertThat(result).isInstanceOf(Types.Result.Saved.class);
  }

  /** Sets the target of the type {@code t}. */
  private void type(Target target) {
    world
        .store
        .types()
        .put(
            World.TENANT,
            "t",
            new Types.Settings(
                target,
                null,
                null,
                null,
                null,
                null,
                false,
                null,
                Callbacks.NONE,
                StatusRules.DEFAULT,
                null),
            "test",
            null);
  }

  @Test
  void a_target_that_is_gone_pauses_its_type() {
    type(HTTP);
    deliverer.respondWith(_ -> new DeliveryResult.Gone(Failure.of(FailureKind.STATUS, "410")));
    TaskId id = world.create(World.task("t", null));

    runUntil(id, TaskState.DEAD);

    assertThat(world.store.types().find(World.TENANT, "t").orElseThrow().paused()).isTrue();
  }

  @Test
  void tasks_of_a_lost_node_are_reclaimed_and_its_late_result_is_fenced() {
    world.node("silent");
    TaskId id = world.create(task(null, HTTP));
    ClaimedTask stale = world.claimOne("silent");
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s' WHERE id = 'silent'");

    reaper.reapOnce();

    assertThat(world.find(id).last().failure()).isEqualTo(FailureKind.CRASHED);
    TaskView task = runUntil(id, TaskState.COMPLETED);
    assertThat(task.attempt()).isEqualTo(2);
    node.expect(stale.lease().claim(), 1, seats);
    completer.add(
        new Attempted(stale, new Outcome.Dead(Failure.of(FailureKind.STATUS, "x"), false)));
    completer.flushOnce();
    assertThat(world.state(id)).isEqualTo(TaskState.COMPLETED);
    assertThat(events).contains(new EngineEvent.Ended(0, 1));
  }

  @Test
  void tasks_expire_even_if_no_worker_claims_them() {
    NewTask late = TestTask.of("t").target(new Target.Pull()).ttl(Duration.ofMillis(5)).build();
    TaskId id = world.create(late);

    await()
        .until(
            () -> {
              expirer.expireOnce();
              return world.state(id) == TaskState.EXPIRED;
            });

    assertThat(events).contains(new EngineEvent.Expired(1));
  }

  @Test
  void tasks_with_the_same_concurrency_key_run_one_at_a_time() {
    deliverer.hang();
    NewTask keyed =
        TestTask.of("t").payload("{}").target(HTTP).retry(QUICK).concurrencyKey("only-one").build();
    world.create(keyed);
    world.create(keyed);
    world.create(keyed);

    claimUntilDelivered(1);
    claimer.claimOnce();
    assertThat(deliverer.delivered()).hasSize(1);
    assertThat(world.value("SELECT count(*) FROM carillon.running_key")).isEqualTo("1");
  }

  @Test
  void the_next_task_of_a_concurrency_key_starts_when_the_previous_one_ends() {
    NewTask keyed =
        TestTask.of("t").payload("{}").target(HTTP).retry(QUICK).concurrencyKey("only-one").build();
    world.create(keyed);
    world.create(keyed);
    TaskId last = world.create(keyed);

    await()
        .until(
            () -> {
              claimer.claimOnce();
              completer.flushOnce();
              return deliverer.delivered().size() == 3 && world.state(last) == TaskState.COMPLETED;
            });

    assertThat(world.value("SELECT count(*) FROM carillon.running_key")).isEqualTo("0");
  }

  @Test
  void the_janitor_creates_future_partitions_and_drops_old_ones_without_live_tasks() {
    world.sql(
        "SELECT carillon.create_partition(DATE '2020-01-01'), carillon.create_partition(DATE"
            + " '2020-01-02')");
    world.create(task(null, HTTP));
    world.sql(
        """
        INSERT INTO carillon.task (tenant, id, partition, lane, ready_at, due_at, created_at)
        VALUES (1, gen_random_uuid(), DATE '2020-01-02', 1, now(), now(), now())
        """);
    var janitor =
        new Janitor(
            world.partitions,
            new Janitor.Aging(
                world.store.replies(),
                new UniqueTasks(world.db),
                world.store.deadLetters(),
                world.store.redrives(),
                world.store.backfills(),
                world.store.fireRetention(),
                new Activity(world.db),
                world.store.events()),
            world.clock,
            Duration.ofDays(30));

    janitor.cleanOnce();

    assertThat(
            world.value(
                "SELECT string_agg(day::text, ' ' ORDER BY day) FROM carillon.partition WHERE day <"
                    + " '2021-01-01'"))
        .isEqualTo("2020-01-02");
    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.partition WHERE day - (now() AT TIME ZONE"
                    + " 'UTC')::date BETWEEN 1 AND 7"))
        .isEqualTo("7");
    assertThat(world.value("SELECT count(*) FROM carillon.partition WHERE last_day > day + 80"))
        .isEqualTo(String.valueOf(DayRange.quarters(world.clock.instant()).size()));
  }

  @Test
  void an_expired_task_is_not_delivered_and_ends_as_expired() {
    NewTask late = TestTask.of("t").target(HTTP).ttl(Duration.ofMillis(5)).build();
    TaskId id = world.create(late);
    await().until(() -> !world.value("SELECT now() > expires_at FROM carillon.task").equals("f"));

    sweeper.sweepOnce();
    claimer.claimOnce();
    expirer.expireOnce();

    assertThat(world.state(id)).isEqualTo(TaskState.EXPIRED);
    assertThat(deliverer.delivered()).isEmpty();
  }

  @Test
  void a_claim_with_a_lost_response_is_reclaimed() {
    TaskId id = world.create(task(null, HTTP));
    world.claimOne("node"); // committed under this node's id, unknown to its engine

    lostClaims.findOnce();

    assertThat(world.find(id).last().failure()).isEqualTo(FailureKind.LEASE_LOST);
    runUntil(id, TaskState.COMPLETED);
  }

  @Test
  void running_tasks_are_not_reclaimed() {
    deliverer.hang();
    TaskId id = world.create(task(null, HTTP));
    claimUntilDelivered(1);

    lostClaims.findOnce();
    reaper.reapOnce();

    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
  }

  @Test
  void tasks_claimed_under_a_lost_lease_are_not_sent() {
    TaskId id = world.create(task(null, HTTP));
    ClaimedTask claimed = world.claimOne("node");

    node.expect(claimed.lease().claim(), 1, seats);
    dispatcher.send(List.of(claimed), "the id that this node had before");
    dispatcher.close();

    assertThat(deliverer.delivered()).isEmpty();
    completer.flushOnce();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void an_attempt_that_throws_is_a_failure_and_returns_its_seat() {
    deliverer.respondWith(
        _ -> {
          throw new AssertionError("unexpected");
        });
    TaskId id = world.create(task(null, HTTP));

    TaskView task = runUntil(id, TaskState.DEAD);

    assertThat(task.last().failure()).isEqualTo(FailureKind.PROTOCOL);
    assertThat(seats.taken()).isZero();
  }

  @Test
  void a_partly_saved_batch_returns_each_seat_once() {
    TaskId first = world.create(task(null, HTTP));
    TaskId invalid = world.create(task(null, HTTP));
    TaskId delayed = world.create(task(null, HTTP));
    List<ClaimedTask> claimed =
        List.of(world.claimOne("node"), world.claimOne("node"), world.claimOne("node"));
    claimed.forEach(task -> node.expect(task.lease().claim(), 1, seats));
    for (TaskId id : List.of(first, invalid, delayed)) {
      ClaimedTask task =
          claimed.stream().filter(each -> each.id().equals(id)).findFirst().orElseThrow();
      String output = id.equals(invalid) ? "PostgreSQL cannot store \0" : "ok";
      completer.add(new Attempted(task, new Outcome.Completed(200, output)));
    }

    world.sql(
        """
        CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN RAISE EXCEPTION USING ERRCODE = ''disk_full''; END'
        """);
    world.sql(
        """
        CREATE TRIGGER no_room BEFORE UPDATE ON carillon.task
        FOR EACH ROW WHEN (new.id = '%s') EXECUTE FUNCTION no_room()
        """
            .formatted(delayed));
    assertThatThrownBy(completer::flushOnce).isInstanceOf(StoreException.class);
    world.sql("DROP TRIGGER no_room ON carillon.task");
    completer.flushOnce();

    assertThat(world.state(first)).isEqualTo(TaskState.COMPLETED);
    assertThat(world.state(delayed)).isEqualTo(TaskState.COMPLETED);
    assertThat(seats.taken()).isZero();
    assertThat(seats.free()).isEqualTo(3);
  }

  @Test
  void a_task_whose_outcome_cannot_be_saved_is_reclaimed() {
    TaskId invalid = world.create(task(null, HTTP));
    TaskId valid = world.create(task(null, HTTP));
    List<ClaimedTask> claimed = world.claim("node", 2);
    UUID claim = claimed.getFirst().lease().claim();
    node.expect(claim, 2, seats);
    for (TaskId id : List.of(invalid, valid)) {
      ClaimedTask task =
          claimed.stream().filter(each -> each.id().equals(id)).findFirst().orElseThrow();
      String output = id.equals(invalid) ? "PostgreSQL cannot store \0" : "ok";
      completer.add(new Attempted(task, new Outcome.Completed(200, output)));
    }

    completer.flushOnce();

    assertThat(world.state(valid)).isEqualTo(TaskState.COMPLETED);
    assertThat(world.state(invalid)).isEqualTo(TaskState.RUNNING);
    assertThat(node.openClaims.isKnown(claim)).isFalse();
    assertThat(seats.taken()).isZero();
    lostClaims.findOnce();
    assertThat(world.state(invalid)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void a_task_claimed_for_discard_is_released_if_its_target_has_changed() {
    TaskId id = world.create(task(null, HTTP));
    ClaimedTask claimed = world.claimOne("node");
    node.expect(claimed.lease().claim(), 1, seats);

    dispatcher.discard(List.of(claimed));
    completer.flushOnce();

    assertThat(deliverer.delivered()).isEmpty();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
    assertThat(world.find(id).attempt()).isZero();
  }

  @Test
  void discarded_tasks_are_claimed_without_their_payload() {
    type(new Target.Discard());
    TaskId id = world.create(World.task("t", null));
    TaskId other = world.create(World.task("t", null));
    String large = "\"" + "x".repeat(9 << 20) + "\""; // two of these exceed the size of a claim
    world.sql(
        "UPDATE carillon.task SET ready_at = now() - interval '1 s', payload = '%s'"
            .formatted(large));
    world.catalog.refresh();
    List<WorkQueue.Quota> quotas =
        world.catalog.lanes().stream()
            .map(lane -> new WorkQueue.Quota(lane, 2, Instant.EPOCH))
            .toList();
    UUID claim = UUID.randomUUID();
    List<ClaimedTask> claimed =
        world
            .store
            .queue()
            .claimDue(
                id.partition(), quotas, WorkQueue.Claimant.discard(claim, world.node("discarder")))
            .tasks();
    node.expect(claim, 2, seats);

    dispatcher.discard(claimed);
    completer.flushOnce();

    assertThat(claimed).extracting(ClaimedTask::payload).containsExactly(null, null);
    assertThat(world.state(id)).isEqualTo(TaskState.COMPLETED);
    assertThat(world.state(other)).isEqualTo(TaskState.COMPLETED);
    assertThat(world.find(id).spec().payload()).isEqualTo(large);
  }

  /** Creates a due task in the partition of yesterday. */
  private Partition createTaskOfYesterday() {
    Instant then = world.clock.instant().minus(Duration.ofDays(1));
    Partition yesterday = Partition.of(then);
    world.partitions.ensure(yesterday);
    world.sql(
        """
        INSERT INTO carillon.task (tenant, id, partition, lane, target, ready_at, due_at, created_at)
        VALUES (1, '%s', DATE '%s', 1, '{"discard": {}}', now() - interval '1 hour', now(), now())
        """
            .formatted(TaskId.at(then, new Random(1)), yesterday.day()));
    return yesterday;
  }

  @Test
  void a_broken_partition_neither_delays_the_others_nor_is_retried_at_once() {
    TaskId today = world.create(task(null, HTTP));
    Partition yesterday = createTaskOfYesterday();
    world.sql(
        """
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''damaged''; END';
        CREATE TRIGGER fail BEFORE DELETE ON carillon.queue_%s FOR EACH ROW EXECUTE FUNCTION fail()
        """
            .formatted(yesterday.suffix()));
    sweeper.sweepOnce();
    AtomicInteger wakeUps = new AtomicInteger();
    world.signals.workDue().add(wakeUps::incrementAndGet);
    Instant dueBy = world.find(today).dueAt().plusMillis(2); // ready within a millisecond
    await().until(() -> world.clock.instant().isAfter(dueBy));

    assertThatThrownBy(claimer::claimOnce).isInstanceOf(StoreException.class);
    assertThat(world.state(today)).isNotEqualTo(TaskState.PENDING);
    assertThat(wakeUps).as("wake-ups, to continue with the other partitions").hasPositiveValue();
    wakeUps.set(0);

    assertThatThrownBy(claimer::claimOnce).isInstanceOf(StoreException.class);
    assertThat(wakeUps).as("wake-ups, when only the broken partition is left").hasValue(0);
  }

  @Test
  void a_pass_reports_progress_for_each_partition() {
    TaskId today = world.create(task(null, HTTP));
    Partition _ = createTaskOfYesterday();
    sweeper.sweepOnce();
    Instant dueBy = world.find(today).dueAt().plusMillis(2); // ready within a millisecond
    await().until(() -> world.clock.instant().isAfter(dueBy));

    claimer.claimOnce();

    assertThat(node.progress).hasValue(2);
  }

  @Test
  void a_pass_reports_progress_for_each_outcome_saved_alone() {
    for (int i = 0; i < 3; i++) {
      world.create(task(null, HTTP));
    }
    world.sql(
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
        CREATE TRIGGER refuse BEFORE UPDATE ON carillon.task
        FOR EACH ROW WHEN (NEW.state = 'COMPLETED') EXECUTE FUNCTION refuse()
        """);
    claimUntilDelivered(3);
    node.progress.set(0);

    await()
        .until(
            () -> {
              completer.flushOnce();
              return seats.taken() == 0;
            });

    assertThat(node.progress).hasValue(3);
  }

  @Test
  void tasks_of_today_do_not_wait_for_the_backlog_of_yesterday() {
    Target discard = new Target.Discard();
    world.create(task(null, discard));
    Partition yesterday = Partition.of(world.clock.instant().minus(Duration.ofDays(1)));
    world.partitions.ensure(yesterday);
    Instant then = world.clock.instant().minus(Duration.ofDays(1));
    for (int i = 0; i < 300; i++) {
      world.sql(
          """
          INSERT INTO carillon.task (tenant, id, partition, lane, target, ready_at, due_at, created_at)
          VALUES (1, '%s', DATE '%s', 1, '{"discard": {}}', now() - interval '1 hour', now(), now())
          """
              .formatted(TaskId.at(then, new Random(i)), yesterday.day()));
    }
    sweeper.sweepOnce();

    await()
        .until(
            () -> {
              claimer.claimOnce();
              completer.flushOnce();
              return world
                  .value(
                      "SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED' AND partition ="
                          + " (now() AT TIME ZONE 'UTC')::date")
                  .equals("1");
            });

    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE state = 'PENDING'"))
        .isNotEqualTo("0");
  }
}
