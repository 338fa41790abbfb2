package carillon.store;

import static carillon.store.Sql.column;

import carillon.model.ClaimedTask;
import carillon.model.Failure;
import carillon.model.FailureKind;
import carillon.model.Lane;
import carillon.model.Lease;
import carillon.model.Outcome;
import carillon.model.TaskId;
import carillon.model.TenantId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The queue as the workers of one tenant see it: an engine outside the process. Claims with the
 * statement that engines claim with, and ends with the one that they end with.
 */
public final class PullQueue {

  /** Tasks also come from other nodes, which do not wake ours. */
  private static final Duration SWEEP = Duration.ofSeconds(1);

  private final Catalog catalog;
  private final WorkQueue queue;
  private final Endings endings;
  private final Claims claims;
  private final Agenda agenda;
  private final DbClock clock;
  private long wakeUps; // guarded by this

  public PullQueue(
      Catalog catalog,
      WorkQueue queue,
      Endings endings,
      Claims claims,
      Agenda agenda,
      DbClock clock) {
    this.catalog = catalog;
    this.queue = queue;
    this.endings = endings;
    this.claims = claims;
    this.agenda = agenda;
    this.clock = clock;
    agenda.whenEarlier(this::wake);
  }

  private synchronized void wake() {
    wakeUps++;
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
   * Claims what is due, the most urgent lanes first.
   *
   * @param lease null means each type's own
   */
  public List<ClaimedTask> claim(
      Tx tx,
      TenantId tenant,
      List<String> types,
      int max,
      String worker,
      @Nullable Duration lease) {
    Map<Integer, Lane> lanes = lanes(tenant, types);
    List<Agenda.Entry> due = agenda.takeDue(clock.instant(), lanes::containsKey);
    due.sort(
        Comparator.comparingInt((Agenda.Entry entry) -> -priority(lanes, entry))
            .thenComparing(Agenda.Entry::from));
    List<ClaimedTask> claimed = new ArrayList<>();
    for (Agenda.Entry entry : due) {
      Lane lane = lanes.get(entry.lane());
      if (lane == null || claimed.size() == max) {
        agenda.note(entry.slot(), entry.lane(), entry.from());
        continue;
      }
      Duration held = lease == null ? catalog.type(tenant, lane.type()).leaseTimeout() : lease;
      var quota = new WorkQueue.Quota(lane, max - claimed.size(), entry.from(), held);
      WorkQueue.Claim claim = queue.claimDue(tx, entry.slot(), List.of(quota), null, worker);
      claimed.addAll(claim.tasks());
      claim.next().forEach((id, at) -> agenda.note(entry.slot(), id, at));
    }
    return claimed;
  }

  private static int priority(Map<Integer, Lane> lanes, Agenda.Entry entry) {
    Lane lane = lanes.get(entry.lane());
    return lane == null ? 0 : lane.priority();
  }

  /**
   * Waits until a claim for these types is worth trying again: something new, something become due,
   * or at the latest after a second, because tasks also come from other nodes.
   */
  public void awaitWork(TenantId tenant, List<String> types, Duration atMost)
      throws InterruptedException {
    queue.sweepAfter(SWEEP, clock.instant().plus(SWEEP));
    Map<Integer, Lane> lanes = lanes(tenant, types);
    synchronized (this) {
      // Looked at under the monitor that wake() needs: what is noted from here on ends the wait.
      Instant earliest = agenda.earliest(lanes::containsKey);
      Duration wait = atMost.compareTo(SWEEP) < 0 ? atMost : SWEEP;
      if (earliest != null) {
        Duration untilDue = Duration.between(clock.instant(), earliest);
        wait = untilDue.compareTo(wait) < 0 ? untilDue : wait;
      }
      await(wait);
    }
  }

  private synchronized void await(Duration atMost) throws InterruptedException {
    long seen = wakeUps;
    long end = System.nanoTime() + atMost.toNanos();
    for (long left = atMost.toNanos();
        left > 0 && wakeUps == seen;
        left = end - System.nanoTime()) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
  }

  private static final String HELD =
      """
      /* PullQueue.held */
      SELECT t.tenant, t.id, t.lane, t.fence, t.claim, t.attempt, t.due_at, t.retry
      FROM unnest(?::uuid[], ?::date[], ?::int[], ?::uuid[]) AS held (id, slot, fence, claim)
      JOIN carillon.task t ON t.tenant = ? AND t.id = held.id AND t.slot = held.slot
      WHERE t.state = 'RUNNING'
        AND t.fence = held.fence
        AND t.claim = held.claim
      """;

  /**
   * Per report, in order: whether it was accepted. What names a lease that is not current changes
   * nothing.
   */
  public List<Boolean> report(Tx tx, TenantId tenant, List<WorkReport> reports, String who) {
    Map<TaskId, Claims.Held> held = new HashMap<>();
    tx.query(
            HELD,
            claims::held,
            column("uuid", reports, report -> report.id().value()),
            column("date", reports, report -> report.id().slot().day().toString()),
            column("int4", reports, report -> report.lease().fence()),
            column("uuid", reports, report -> report.lease().claim()),
            tenant)
        .forEach(task -> held.put(task.id(), task));
    List<Endings.Ending> ends = new ArrayList<>();
    Set<WorkReport> first = new HashSet<>();
    for (WorkReport report : reports) {
      Claims.Held task = held.get(report.id());
      if (task != null && task.lease().equals(report.lease())) {
        held.remove(report.id()); // of two reports about one task, the first counts
        first.add(report);
        ends.add(
            new Endings.Ending(
                tenant,
                task.id(),
                task.type(),
                task.lease(),
                outcome(report, task),
                report.progress(),
                who,
                false));
      }
    }
    Map<TaskId, ?> written = endings.finish(tx, ends).states();
    return reports.stream()
        .map(report -> first.remove(report) && written.containsKey(report.id()))
        .toList();
  }

  private Outcome outcome(WorkReport report, Claims.Held task) {
    String error = report.error() == null ? "the worker gave no reason" : report.error();
    Failure failure = new Failure(FailureKind.WORKER, error, null, report.output());
    return switch (report.kind()) {
      case COMPLETED -> new Outcome.Completed(null, report.output());
      case DEAD -> new Outcome.Dead(failure, false);
      case RELEASED -> new Outcome.Released(failure);
      case FAILED ->
          task.retry()
              .afterFailure(
                  task.attempt(),
                  task.dueAt(),
                  failure,
                  report.retryAfter(),
                  clock.instant(),
                  ThreadLocalRandom.current());
    };
  }

  /** One lease to renew. */
  public record Renewal(TaskId id, Lease lease) {}

  /** What became of a renewal. */
  public enum Renewed {
    RENEWED,
    STALE,
    /** Renewed, but a cancel was requested: stop if you can. */
    CANCELLED
  }

  /** Where a lease now ends; null unless renewed. */
  public record RenewResult(Renewed renewed, @Nullable Instant leaseUntil) {}

  private static final String RENEW =
      """
      /* PullQueue.renew */
      UPDATE carillon.task t
      SET lease_until = clock_timestamp() + make_interval(secs => coalesce(
              ?::bigint,
              (SELECT tt.lease_timeout_ms
               FROM carillon.lane l
               JOIN carillon.task_type tt ON tt.tenant = l.tenant AND tt.name = l.type
               WHERE l.id = t.lane)) / 1000.0)
      FROM unnest(?::uuid[], ?::date[], ?::int[], ?::uuid[]) AS held (id, slot, fence, claim)
      WHERE t.tenant = ?
        AND t.id = held.id
        AND t.slot = held.slot
        AND t.state = 'RUNNING'
        AND t.fence = held.fence
        AND t.claim = held.claim
        AND t.lease_until IS NOT NULL
      RETURNING t.id, t.lease_until, t.cancel_requested
      """;

  /** Per renewal, in order. */
  public List<RenewResult> renew(
      Tx tx, TenantId tenant, List<Renewal> renewals, @Nullable Duration lease) {
    Map<TaskId, RenewResult> renewed = new HashMap<>();
    tx.query(
            RENEW,
            row ->
                Map.entry(
                    new TaskId(Sql.uuid(row, "id")),
                    new RenewResult(
                        row.getBoolean("cancel_requested") ? Renewed.CANCELLED : Renewed.RENEWED,
                        Sql.instant(row, "lease_until"))),
            lease,
            column("uuid", renewals, renewal -> renewal.id().value()),
            column("date", renewals, renewal -> renewal.id().slot().day().toString()),
            column("int4", renewals, renewal -> renewal.lease().fence()),
            column("uuid", renewals, renewal -> renewal.lease().claim()),
            tenant)
        .forEach(result -> renewed.put(result.getKey(), result.getValue()));
    return renewals.stream()
        .map(renewal -> renewed.getOrDefault(renewal.id(), new RenewResult(Renewed.STALE, null)))
        .toList();
  }
}
