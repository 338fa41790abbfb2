package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.Outcome;
import carillon.store.catalog.Catalog;
import carillon.store.db.Column;
import carillon.store.db.DbClock;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The queue for the workers of one tenant. Workers claim and finish tasks with the same statements
 * as the engine.
 */
public final class PullQueue {

  /** Tasks created on other nodes raise no signal here, so waiting workers also sweep. */
  private static final Duration SWEEP_INTERVAL = Duration.ofSeconds(1);

  private final Catalog catalog;
  private final WorkQueue queue;
  private final QueueSweep sweep;
  private final Outcomes outcomes;
  private final HeldClaims claims;
  private final Agenda agenda;
  private final DbClock clock;

  public PullQueue(
      Catalog catalog,
      WorkQueue queue,
      QueueSweep sweep,
      Outcomes outcomes,
      HeldClaims claims,
      Agenda agenda,
      DbClock clock) {
    this.catalog = catalog;
    this.queue = queue;
    this.sweep = sweep;
    this.outcomes = outcomes;
    this.claims = claims;
    this.agenda = agenda;
    this.clock = clock;
  }

  /** Wakes all callers of {@link #awaitWork}. */
  public synchronized void wake() {
    notifyAll();
  }

  private Map<Integer, Lane> lanes(TenantId tenant, List<String> types) {
    Map<Integer, Lane> lanes = new HashMap<>();
    for (Lane lane : catalog.lanes()) {
      if (lane.tenant().equals(tenant)
          && types.contains(lane.type())
          && catalog.isPulledNow(lane)) {
        lanes.put(lane.id(), lane);
      }
    }
    return lanes;
  }

  /**
   * Claims due tasks, the most urgent lanes first.
   *
   * @param lease null for the lease of each type
   */
  public List<ClaimedTask> claim(
      Tx tx,
      TenantId tenant,
      List<String> types,
      int max,
      String worker,
      @Nullable Duration lease) {
    Map<Integer, Lane> lanes = lanes(tenant, types);
    Comparator<Agenda.Entry> mostUrgent =
        Comparator.comparingInt((Agenda.Entry entry) -> -priority(lanes, entry))
            .thenComparing(Agenda.Entry::from);
    Instant now = clock.instant();
    Set<Agenda.Entry> tried = new HashSet<>();
    List<ClaimedTask> claimed = new ArrayList<>();
    try {
      while (claimed.size() < max) {
        // One lane at a time, so that concurrent claims can take the other lanes.
        Optional<Agenda.Entry> next =
            agenda.takeFirstDue(
                now,
                entry -> lanes.containsKey(entry.lane()) && !tried.contains(entry),
                mostUrgent);
        if (next.isEmpty()) {
          return claimed;
        }
        Agenda.Entry entry = next.get();
        Lane lane = Objects.requireNonNull(lanes.get(entry.lane()));
        tried.add(entry);
        Duration held = lease == null ? catalog.type(lane).leaseTimeout() : lease;
        var quota = new WorkQueue.Quota(lane, max - claimed.size(), entry.from());
        WorkQueue.Claim claim = queue.claimForWorker(tx, entry.partition(), quota, worker, held);
        claim.next().forEach((id, at) -> agenda.found(entry.partition(), id, at));
        claimed.addAll(claim.tasks());
      }
      return claimed;
    } catch (RuntimeException e) {
      tried.forEach(this::putBack); // so that the next claim finds them
      throw e;
    }
  }

  private void putBack(Agenda.Entry entry) {
    agenda.found(entry.partition(), entry.lane(), entry.from());
  }

  private static int priority(Map<Integer, Lane> lanes, Agenda.Entry entry) {
    Lane lane = lanes.get(entry.lane());
    return lane == null ? 0 : lane.priority();
  }

  /**
   * Waits until a claim for these types may succeed: a task was created or became due, or a second
   * has passed, because other nodes create tasks, too.
   *
   * @param enough also ends the wait; call {@link #wake} after changing its result
   */
  public void awaitWork(
      TenantId tenant, List<String> types, Duration atMost, BooleanSupplier enough)
      throws InterruptedException {
    sweep.sweepAfter(SWEEP_INTERVAL, clock.instant().plus(SWEEP_INTERVAL));
    Duration maxWait = atMost.compareTo(SWEEP_INTERVAL) < 0 ? atMost : SWEEP_INTERVAL;
    long end = System.nanoTime() + maxWait.toNanos();
    synchronized (this) {
      // Checked while holding the monitor that wake() needs, so no wake-up is missed. Entries of
      // other lanes wake this thread, too, but do not end the wait.
      for (long left = maxWait.toNanos(); left > 0; left = end - System.nanoTime()) {
        Instant earliest = agenda.earliest(lanes(tenant, types)::containsKey);
        long untilDue =
            earliest == null ? left : Duration.between(clock.instant(), earliest).toNanos();
        if (untilDue <= 0 || enough.getAsBoolean()) {
          return;
        }
        TimeUnit.NANOSECONDS.timedWait(this, Math.min(left, untilDue));
      }
    }
  }

  private static final String HELD =
      """
      /* PullQueue.held */
      SELECT t.tenant, t.id, t.lane, held.fence, held.claim, t.attempt + 1 AS attempt, t.due_at, t.retry, t.crashes
      FROM unnest(?::uuid[], ?::int[], ?::uuid[]) AS held (id, fence, claim)
      JOIN carillon.task_{partition} t ON t.tenant = ? AND t.id = held.id
      WHERE t.state = 'PENDING'
        AND t.fence = held.fence - 1
      """;

  /**
   * Returns for each report whether it was accepted. A report with a stale lease changes nothing;
   * the first of two reports about one task counts.
   *
   * @param types the types that the caller may touch; empty for all. Tasks of other types count as
   *     stale
   */
  public List<Boolean> report(
      Tx tx, TenantId tenant, List<WorkReport> reports, List<String> types, String who) {
    Map<TaskId, WorkReport> accepted = new HashMap<>();
    List<ClaimEnding> ends = new ArrayList<>();
    WorkerClaims.held(tx, tenant, reports, WorkReport::id, WorkReport::lease)
        .forEach(
            (partition, some) ->
                accepted.putAll(current(tx, tenant, partition, some, types, ends)));
    // The tasks of all partitions before any claim: see the lock order in Outcomes.
    accepted.keySet().retainAll(outcomes.finishReported(tx, ends, who).states().keySet());
    HeldClaims.retireOver(tx, accepted.values(), WorkReport::id, WorkReport::lease, _ -> true);
    List<Boolean> results = new ArrayList<>();
    for (WorkReport report : reports) {
      results.add(accepted.remove(report.id(), report));
    }
    return results;
  }

  /** The reports with the current lease of their task; adds the outcome of each to {@code ends}. */
  private Map<TaskId, WorkReport> current(
      Tx tx,
      TenantId tenant,
      Partition partition,
      List<WorkReport> reports,
      List<String> types,
      List<ClaimEnding> ends) {
    Set<TaskId> once = new HashSet<>();
    Set<TaskId> again = new HashSet<>();
    reports.stream().map(WorkReport::id).filter(id -> !once.add(id)).forEach(again::add);
    // A completion needs no read: the fence decides. Unless there are several reports about the
    // task, of which the one with the current lease counts.
    Predicate<WorkReport> isPlain =
        report ->
            types.isEmpty()
                && report.kind() == WorkReport.Kind.COMPLETED
                && !again.contains(report.id());
    Map<TaskId, HeldClaims.Held> held =
        held(tx, tenant, partition, reports.stream().filter(isPlain.negate()).toList());
    Map<TaskId, WorkReport> first = new HashMap<>();
    for (WorkReport report : reports) {
      HeldClaims.Held task = held.get(report.id());
      boolean isCurrent =
          isPlain.test(report)
              || (task != null
                  && task.lease().equals(report.lease())
                  && (types.isEmpty() || types.contains(task.type())));
      if (isCurrent && first.putIfAbsent(report.id(), report) == null) {
        ends.add(
            new ClaimEnding(
                tenant,
                report.id(),
                task == null ? null : task.type(),
                report.lease(),
                outcome(report, task),
                report.progress(),
                null,
                false));
      }
    }
    return first;
  }

  private Map<TaskId, HeldClaims.Held> held(
      Tx tx, TenantId tenant, Partition partition, List<WorkReport> reports) {
    Map<TaskId, HeldClaims.Held> held = new HashMap<>();
    if (!reports.isEmpty()) {
      tx.query(
              Sql.forPartition(HELD, partition),
              claims::held,
              Column.uuids(reports, report -> report.id().value()),
              Column.ints(reports, report -> report.lease().fence()),
              Column.uuids(reports, report -> report.lease().claim()),
              tenant)
          .forEach(task -> held.put(task.id(), task));
    }
    return held;
  }

  private Outcome outcome(WorkReport report, HeldClaims.@Nullable Held task) {
    String error = report.error() == null ? "the worker gave no reason" : report.error();
    Failure failure = new Failure(FailureKind.WORKER, error, null, report.output());
    return switch (report.kind()) {
      case COMPLETED -> new Outcome.Completed(null, report.output());
      case DEAD -> new Outcome.Dead(failure, false);
      case RELEASED -> new Outcome.Released(failure);
      case FAILED -> retry(report, Objects.requireNonNull(task), failure);
    };
  }

  private Outcome retry(WorkReport report, HeldClaims.Held task, Failure failure) {
    return task.retry()
        .afterFailure(
            task.attempt(),
            task.dueAt(),
            failure,
            report.retryAfter(),
            clock.latest(),
            ThreadLocalRandom.current());
  }

  /**
   * One lease to renew.
   *
   * @param progress free text shown with the task; null leaves it unchanged
   */
  public record Renewal(TaskId id, Lease lease, @Nullable String progress) {

    public Renewal(TaskId id, Lease lease) {
      this(id, lease, null);
    }
  }

  /** The result of a renewal. */
  public enum Renewed {
    RENEWED,
    STALE,
    /** Renewed, but a cancel was requested: stop if you can. */
    CANCELLED
  }

  /**
   * The result of one renewal.
   *
   * @param leaseUntil the new end of the lease; null unless renewed
   */
  public record RenewResult(Renewed renewed, @Nullable Instant leaseUntil) {}

  /**
   * Renews leases; the results are in the order of the renewals.
   *
   * @param types the types that the caller may touch; tasks of other types count as stale
   */
  public List<RenewResult> renew(
      Tx tx,
      TenantId tenant,
      List<Renewal> renewals,
      Predicate<String> types,
      @Nullable Duration lease) {
    List<Integer> lanes = new ArrayList<>();
    for (Lane lane : catalog.lanes()) {
      if (lane.tenant().equals(tenant) && types.test(lane.type())) {
        lanes.add(lane.id());
      }
    }
    return LeaseRenewals.renew(tx, tenant, renewals, lanes, lease);
  }
}
