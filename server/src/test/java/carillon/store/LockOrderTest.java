package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.Outcome;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.store.db.Tx;
import carillon.store.queue.HeldClaims;
import carillon.store.queue.PullQueue;
import carillon.store.queue.WorkQueue;
import carillon.store.queue.WorkReport;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Transactions that end or renew claims take their locks in one order: node, tasks of all
 * partitions, their rows in the queue, dead letters and their groups, claims. Each test stops one
 * transaction just before it touches its claim row, starts a second one that needs the same rows,
 * and expects that PostgreSQL detects no deadlock.
 */
class LockOrderTest {

  private static final Failure FAILED = Failure.of(FailureKind.WORKER, "failed");

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private World world;

  /** What the holder does with its claim. */
  enum Holder {
    COMPLETES(TaskState.COMPLETED),
    FAILS(TaskState.PENDING),
    REPORTS(TaskState.COMPLETED),
    RELEASES(TaskState.PENDING),
    RENEWS(TaskState.RUNNING);

    final TaskState next;

    Holder(TaskState next) {
      this.next = next;
    }

    boolean isNode() {
      return this == COMPLETES || this == FAILS;
    }
  }

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
    world.sql(
        """
        CREATE FUNCTION wait_for_lock_42() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM set_config('lock_timeout', '0', true);
            PERFORM pg_advisory_xact_lock_shared(42);
            RETURN NULL;
        END $$
        """);
    world.sql(
        "CREATE TRIGGER wait_for_lock_42 BEFORE UPDATE OR DELETE ON carillon.claim"
            + " FOR EACH STATEMENT EXECUTE FUNCTION wait_for_lock_42()");
  }

  @AfterEach
  void close() {
    world.value("SELECT pg_advisory_unlock_all()");
    threads.close();
    world.close();
  }

  @ParameterizedTest
  @EnumSource
  void the_reaper_and_the_holder_of_a_claim_do_not_deadlock(Holder holder)
      throws InterruptedException, ExecutionException {
    ClaimedTask task = holder.isNode() ? claimedByNode() : claimed(Duration.ZERO);
    if (!holder.isNode()) {
      lapse(task.lease().claim());
    }
    var lost = new HeldClaims.Lost(task.lease().claim(), null, task.id().partition());

    overlap(tx -> act(tx, holder, task), tx -> reap(tx, lost, retry()));

    world.db.inTransaction(tx -> reap(tx, lost, retry())); // the next pass of the reaper
    assertThat(world.state(task.id())).isEqualTo(holder.next);
    assertThat(world.value("SELECT count(*) FROM carillon.claim"))
        .isEqualTo(holder == Holder.RENEWS ? "1" : "0");
  }

  @Test
  void a_report_on_two_partitions_and_the_reaper_do_not_deadlock()
      throws InterruptedException, ExecutionException {
    ClaimedTask today = claimed(Duration.ZERO);
    ClaimedTask tomorrow = claimed(Duration.ofDays(1));
    lapse(tomorrow.lease().claim());
    var lost = new HeldClaims.Lost(tomorrow.lease().claim(), null, tomorrow.id().partition());

    overlap(
        tx -> report(tx, WorkReport.Kind.DEAD, today, tomorrow),
        tx -> reap(tx, lost, new Outcome.Dead(FAILED, false)));

    assertThat(world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("2");
  }

  @ParameterizedTest
  @CsvSource({"true", "false"})
  void a_report_and_a_renewal_on_two_partitions_do_not_deadlock(boolean reportIsFirst)
      throws InterruptedException, ExecutionException {
    ClaimedTask today = claimed(Duration.ZERO);
    ClaimedTask tomorrow = claimed(Duration.ofDays(1));
    Function<Tx, Object> report = tx -> report(tx, WorkReport.Kind.COMPLETED, tomorrow, today);
    Function<Tx, Object> renewal = tx -> renew(tx, today, tomorrow);

    overlap(reportIsFirst ? report : renewal, reportIsFirst ? renewal : report);

    assertThat(world.state(tomorrow.id())).isEqualTo(TaskState.COMPLETED);
    assertThat(world.state(today.id())).isEqualTo(TaskState.COMPLETED);
    assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("0");
  }

  @Test
  void the_reaper_leaves_locked_tasks_to_its_next_pass()
      throws InterruptedException, ExecutionException {
    TaskId first = world.create(World.task("t", new Target.Pull()));
    TaskId second = world.create(World.task("t", new Target.Pull()));
    await()
        .until(
            () ->
                world
                    .value("SELECT count(*) FROM carillon.task WHERE ready_at <= now()")
                    .equals("2"));
    Lease lease = world.claim("node", 2).getFirst().lease();
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s'");
    var lost = new HeldClaims.Lost(lease.claim(), "node", first.partition());
    world.sql("BEGIN; SELECT FROM carillon.task WHERE id = '%s' FOR UPDATE".formatted(first));

    world.db.tryTransaction(tx -> reap(tx, lost, retry()));

    world.sql("COMMIT");
    assertThat(world.state(first)).isEqualTo(TaskState.RUNNING);
    assertThat(world.state(second)).isEqualTo(TaskState.PENDING);
    assertThat(world.store.claims().lapsed(10)).containsExactly(lost);
    world.db.tryTransaction(tx -> reap(tx, lost, retry()));
    assertThat(world.state(first)).isEqualTo(TaskState.PENDING);
    assertThat(world.store.claims().lapsed(10)).isEmpty();
  }

  /**
   * Runs the first transaction up to its claim rows, then the second one until it is done or waits
   * for a lock, and then both to their end. Neither is retried, so a deadlock fails the test.
   */
  private void overlap(Function<Tx, ?> first, Function<Tx, ?> second)
      throws InterruptedException, ExecutionException {
    world.value("SELECT pg_advisory_lock(42)");
    Future<?> stopped = threads.submit(() -> world.db.tryTransaction(first::apply));
    await().until(() -> stopped.isDone() || waiters("advisory") == 1);
    Future<?> waiting = threads.submit(() -> world.db.tryTransaction(second::apply));
    await()
        .pollInterval(Duration.ofMillis(2))
        .until(() -> waiting.isDone() || waiters("advisory") + waiters("transactionid") == 2);
    world.value("SELECT pg_advisory_unlock(42)");
    stopped.get();
    waiting.get();
  }

  private int waiters(String lock) {
    return Integer.parseInt(
        world.value(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                + " AND wait_event = '"
                + lock
                + "'"));
  }

  private Object act(Tx tx, Holder holder, ClaimedTask task) {
    return switch (holder) {
      case COMPLETES -> finish(tx, task, new Outcome.Completed(200, null));
      case FAILS -> finish(tx, task, retry());
      case REPORTS -> report(tx, WorkReport.Kind.COMPLETED, task);
      case RELEASES -> report(tx, WorkReport.Kind.RELEASED, task);
      case RENEWS -> renew(tx, task);
    };
  }

  private Object finish(Tx tx, ClaimedTask task, Outcome outcome) {
    return world
        .store
        .outcomes()
        .finishAttempts(
            tx, List.of(new Attempted(task, outcome)), Set.of(task.lease().claim()), "node");
  }

  private Object report(Tx tx, WorkReport.Kind kind, ClaimedTask... tasks) {
    List<WorkReport> reports =
        List.of(tasks).stream()
            .map(task -> new WorkReport(task.id(), task.lease(), kind, null, "failed", null, null))
            .toList();
    return world.store.pullQueue().report(tx, World.TENANT, reports, List.of(), "worker");
  }

  /** Renews with a shorter lease, which also brings forward the time of the claim's next check. */
  private Object renew(Tx tx, ClaimedTask... tasks) {
    List<PullQueue.Renewal> renewals =
        List.of(tasks).stream()
            .map(task -> new PullQueue.Renewal(task.id(), task.lease()))
            .toList();
    return world
        .store
        .pullQueue()
        .renew(tx, World.TENANT, renewals, _ -> true, Duration.ofSeconds(30));
  }

  private Object reap(Tx tx, HeldClaims.Lost lost, Outcome outcome) {
    return world.store.claims().reap(tx, lost, (_, _) -> outcome);
  }

  private static Outcome retry() {
    return new Outcome.RetryAt(Instant.now().minusSeconds(1), FAILED);
  }

  private void lapse(UUID claim) {
    world.sql(
        """
        UPDATE carillon.claim
        SET lease_until = now() - interval '1 s',
            check_at = now() - interval '1 s'
        WHERE id = '%s'
        """
            .formatted(claim));
  }

  private ClaimedTask claimedByNode() {
    world.create(World.task("t", new Target.Pull()));
    return world.claimOne("node");
  }

  /** A task in the partition of that time, made due now and claimed by a worker. */
  private ClaimedTask claimed(Duration ahead) {
    TaskId id = world.create(World.task("t", new Target.Pull(), world.clock.instant().plus(ahead)));
    world.sql(
        "UPDATE carillon.task SET ready_at = now() - interval '1 s' WHERE id = '%s'".formatted(id));
    Lane lane = world.catalog.laneFor(World.TENANT, "t", 5, 0, Route.PULL);
    var quota = new WorkQueue.Quota(lane, 1, Instant.EPOCH);
    return world
        .db
        .inTransaction(
            tx ->
                world
                    .store
                    .queue()
                    .claimForWorker(tx, id.partition(), quota, "worker", Duration.ofMinutes(1)))
        .tasks()
        .getFirst();
  }
}
