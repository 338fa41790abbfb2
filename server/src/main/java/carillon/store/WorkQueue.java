package carillon.store;

import static carillon.store.Sql.column;

import carillon.model.ClaimedTask;
import carillon.model.Lane;
import carillon.model.Lease;
import carillon.model.RetryPolicy;
import carillon.model.Slot;
import carillon.model.Target;
import carillon.model.TaskId;
import carillon.model.TaskType;
import carillon.model.TenantId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The queue across all tenants: what is waiting, and the claim that takes it. How a claim ends is
 * in {@link Endings}.
 */
public final class WorkQueue {

  private static final int FULL_SWEEP = 10;

  private final Db db;
  private final Catalog catalog;
  private final Slots slots;
  private final Agenda agenda;
  private final AtomicInteger sweeps = new AtomicInteger();
  private @Nullable Long sweptAt; // guarded by this

  public WorkQueue(Db db, Catalog catalog, Slots slots, Agenda agenda) {
    this.db = db;
    this.catalog = catalog;
    this.slots = slots;
    this.agenda = agenda;
  }

  /**
   * How many tasks a lane may release.
   *
   * @param from where in the lane to start
   * @param lease how long each is held without renewal; null where the node's own lease covers it
   */
  public record Quota(Lane lane, int tasks, Instant from, @Nullable Duration lease) {}

  // For each lane its earliest waiting task, found by jumping from lane to lane in the index.
  private static final String SWEEP =
      """
      /* WorkQueue.sweep */
      WITH RECURSIVE head AS (
          (SELECT lane, ready_at
           FROM carillon.task_{slot}
           WHERE ready_at IS NOT NULL
           ORDER BY lane, ready_at
           LIMIT 1)
          UNION ALL
          SELECT next.lane, next.ready_at
          FROM head
          CROSS JOIN LATERAL (
              SELECT lane, ready_at
              FROM carillon.task_{slot}
              WHERE ready_at IS NOT NULL
                AND lane > head.lane
              ORDER BY lane, ready_at
              LIMIT 1
          ) next
      )
      SELECT lane, ready_at
      FROM head
      """;

  /** Sweeps unless somebody in this process did so within the interval. */
  public void sweepAfter(Duration interval, Instant openBy) {
    synchronized (this) {
      long now = System.nanoTime();
      if (sweptAt != null && now - sweptAt < interval.toNanos()) {
        return;
      }
      sweptAt = now;
    }
    sweep(openBy);
  }

  /**
   * Notes in the agenda whatever waits in the slots that are open by then. A past slot in which
   * nothing waits is looked at every tenth time only: what comes back to it is noted by the process
   * that puts it there.
   */
  public void sweep(Instant openBy) {
    Slot yesterday = Slot.of(openBy.minus(Duration.ofDays(1)));
    Set<Slot> known = agenda.slots();
    boolean isFull = sweeps.getAndIncrement() % FULL_SWEEP == 0;
    for (Slot slot : slots.open(openBy)) {
      if (isFull || slot.compareTo(yesterday) >= 0 || known.contains(slot)) {
        sweepSlot(slot);
      }
    }
  }

  private void sweepSlot(Slot slot) {
    db.inTransaction(
            tx ->
                tx.query(
                    Sql.forSlot(SWEEP, slot),
                    row ->
                        new Agenda.Entry(
                            slot, row.getInt("lane"), Sql.requiredInstant(row, "ready_at"))))
        .forEach(entry -> agenda.note(slot, entry.lane(), entry.from()));
  }

  /**
   * Claims due tasks of one slot: locks them, skipping what others are claiming, and makes them
   * RUNNING.
   */
  private static final String CLAIM_DUE =
      """
      /* WorkQueue.claimDue */
      WITH line AS MATERIALIZED (
          SELECT *
          FROM unnest(?::int[], ?::text[], ?::int[], ?::timestamptz[], ?::bigint[])
               AS l (lane, type, quota, from_at, lease_ms)
      ), due AS MATERIALIZED ( -- keeps every LIMIT exact: the planner may not run this part twice
          SELECT line.lane, line.type, line.lease_ms, t.*
          FROM line
          CROSS JOIN LATERAL (
              SELECT t.ctid AS row_id, t.tenant, t.id, t.ready_at, t.concurrency_key
              FROM carillon.task_{slot} t
              WHERE t.lane = line.lane
                AND t.ready_at >= line.from_at
                AND t.ready_at <= (SELECT clock_timestamp()) -- asked once, so that the index can use it
                AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
                AND (t.concurrency_key IS NULL
                     OR NOT EXISTS (SELECT FROM carillon.running_key k
                                    WHERE k.tenant = t.tenant
                                      AND k.type = line.type
                                      AND k.key = t.concurrency_key))
              ORDER BY t.ready_at
              LIMIT line.quota
              FOR UPDATE OF t SKIP LOCKED
          ) t
      ), next AS MATERIALIZED (
          SELECT line.lane,
                 (SELECT t.ready_at
                  FROM carillon.task_{slot} t
                  WHERE t.lane = line.lane
                    AND t.ready_at > (SELECT clock_timestamp())
                  ORDER BY t.ready_at
                  LIMIT 1) AS next_at
          FROM line
      ), keyed AS ( -- who gets the key among those that want it now, here or in another claim
          INSERT INTO carillon.running_key (tenant, type, key, task)
          SELECT due.tenant, due.type, due.concurrency_key, due.id
          FROM due
          WHERE due.concurrency_key IS NOT NULL
          ORDER BY due.tenant, due.type, due.concurrency_key, due.ready_at
          ON CONFLICT DO NOTHING
          RETURNING task
      ), taken AS (
          UPDATE carillon.task_{slot} t
          SET state = 'RUNNING',
              ready_at = NULL,
              version = t.version + 1,
              attempt = t.attempt + 1, -- counted before anything is sent
              fence = t.fence + 1,
              claim = ?,
              leased_by = ?,
              lease_until = clock_timestamp() + make_interval(secs => due.lease_ms / 1000.0),
              started_at = clock_timestamp(),
              status = NULL,
              failure = NULL,
              error = NULL,
              output = NULL
          FROM due
          WHERE t.ctid = due.row_id
            AND t.state = 'PENDING'
            AND (due.concurrency_key IS NULL OR due.id IN (SELECT task FROM keyed))
          RETURNING t.tenant, t.id, t.lane, t.attempt, t.fence, t.started_at, t.lease_until, t.due_at, t.key, t.payload,
                    t.target, t.retry, t.slot, due.ready_at
      ), claimed AS (
          INSERT INTO carillon.claim (id, node, lease_until, slot, tenants, tasks)
          SELECT ?, ?, max(lease_until), slot, array_agg(tenant), array_agg(id)
          FROM taken
          GROUP BY slot
      ), trail AS (
          INSERT INTO carillon.transition_{slot} (tenant, task, slot, at, from_state, to_state, fence, who)
          SELECT tenant, id, slot, started_at, 'PENDING', 'RUNNING', fence, ?
          FROM taken
      )
      SELECT next.lane AS line_lane, next.next_at, taken.*
      FROM next
      LEFT JOIN taken ON taken.lane = next.lane
      """;

  /**
   * What one claim took, and what is left.
   *
   * @param next per lane that was asked: when to come back, if anything is known to wait there
   */
  public record Claim(List<ClaimedTask> tasks, Map<Integer, Instant> next) {}

  /** Claims for a node, whose lease covers what it takes. */
  public Claim claimForNode(Slot slot, List<Quota> quotas, String node) {
    return db.inTransaction(tx -> claimDue(tx, slot, quotas, node, node));
  }

  /**
   * @param node null for a worker, which then holds a lease for each task
   */
  Claim claimDue(Tx tx, Slot slot, List<Quota> quotas, @Nullable String node, String who) {
    UUID claim = UUID.randomUUID();
    Map<Integer, Instant> next = new HashMap<>();
    List<ClaimedTask> tasks = new ArrayList<>();
    Map<Integer, Quota> byLane = new HashMap<>();
    quotas.forEach(quota -> byLane.put(quota.lane().id(), quota));
    tx.query(
        Sql.forSlot(CLAIM_DUE, slot),
        row -> {
          int lane = row.getInt("line_lane");
          Instant at = Sql.instant(row, "next_at");
          if (at != null) {
            next.put(lane, at);
          }
          if (row.getObject("id") != null) {
            tasks.add(claimed(row, catalog.lane(lane), claim));
          }
          return lane;
        },
        column("int4", quotas, quota -> quota.lane().id()),
        column("text", quotas, quota -> quota.lane().type()),
        column("int4", quotas, Quota::tasks),
        column("timestamptz", quotas, quota -> Sql.text(quota.from())),
        column("int8", quotas, quota -> quota.lease() == null ? null : quota.lease().toMillis()),
        claim,
        who,
        claim,
        node,
        who);
    noteFullLanes(byLane, tasks, next);
    return new Claim(tasks, next);
  }

  /** A lane that gave all that it was asked for probably has more, from where this claim ended. */
  private static void noteFullLanes(
      Map<Integer, Quota> quotas, List<ClaimedTask> tasks, Map<Integer, Instant> next) {
    Map<Integer, Integer> taken = new HashMap<>();
    Map<Integer, Instant> last = new HashMap<>();
    for (ClaimedTask task : tasks) {
      taken.merge(task.lane(), 1, Integer::sum);
      last.merge(task.lane(), task.readyAt(), (a, b) -> a.isAfter(b) ? a : b);
    }
    taken.forEach(
        (lane, count) -> {
          Quota quota = quotas.get(lane);
          Instant end = last.get(lane);
          if (quota != null && end != null && count >= quota.tasks()) {
            next.put(lane, end);
          }
        });
  }

  private ClaimedTask claimed(ResultSet row, Lane lane, UUID claim) throws SQLException {
    TaskType type = catalog.type(lane.tenant(), lane.type());
    String target = row.getString("target");
    String retry = row.getString("retry");
    Target ownTarget = target == null ? null : Json.target(target);
    RetryPolicy ownRetry = retry == null ? null : Json.retry(retry);
    return new ClaimedTask(
        new TenantId(row.getInt("tenant")),
        new TaskId(Sql.uuid(row, "id")),
        lane.id(),
        lane.type(),
        lane.priority(),
        row.getString("key"),
        row.getInt("attempt"),
        new Lease(row.getInt("fence"), claim),
        Sql.requiredInstant(row, "due_at"),
        Sql.requiredInstant(row, "ready_at"),
        Sql.requiredInstant(row, "started_at"),
        Sql.instant(row, "lease_until"),
        row.getString("payload"),
        ownTarget == null ? type.target() : ownTarget,
        ownTarget == null,
        ownRetry == null ? type.retry() : ownRetry,
        type.timeout(),
        type.signingSecrets());
  }

  private static final String EXPIRE =
      """
      /* WorkQueue.expireDue */
      WITH late AS MATERIALIZED (
          SELECT t.tenant, t.id
          FROM carillon.task_{slot} t
          WHERE t.expires_at <= (SELECT clock_timestamp())
            AND t.ready_at IS NOT NULL
          ORDER BY t.expires_at
          LIMIT ?
          FOR UPDATE OF t SKIP LOCKED
      ), expired AS (
          UPDATE carillon.task_{slot} t
          SET state = 'EXPIRED',
              ready_at = NULL,
              finished_at = clock_timestamp(),
              version = t.version + 1
          FROM late
          WHERE t.tenant = late.tenant
            AND t.id = late.id
            AND t.state = 'PENDING'
          RETURNING t.tenant, t.id, t.slot, t.fence
      )
      INSERT INTO carillon.transition_{slot} (tenant, task, slot, at, from_state, to_state, fence, who)
      SELECT tenant, id, slot, clock_timestamp(), 'PENDING', 'EXPIRED', fence, 'carillon'
      FROM expired
      """;

  /** Ends tasks that were not started in time, also where nobody claims; says how many. */
  public int expireDue(Instant now, int limit) {
    int expired = 0;
    Set<Slot> waiting = agenda.slots();
    for (Slot slot : slots.open(now).stream().filter(waiting::contains).toList()) {
      expired += db.inTransaction(tx -> tx.update(Sql.forSlot(EXPIRE, slot), limit));
    }
    return expired;
  }

  private static final String COUNT_DUE =
      """
      /* WorkQueue.backlog */
      SELECT count(*) AS due, min(ready_at) AS oldest
      FROM (
          SELECT t.ready_at
          FROM unnest(?::int[]) AS l (lane)
          CROSS JOIN LATERAL (
              SELECT ready_at
              FROM carillon.task_{slot}
              WHERE lane = l.lane
                AND ready_at <= (SELECT clock_timestamp())
              ORDER BY ready_at
              LIMIT ?
          ) t
          LIMIT ?
      ) t
      """;

  /**
   * What is due and waits.
   *
   * @param due counted up to a limit, so that a long line costs no more to look at than a short one
   */
  public record Backlog(long due, @Nullable Instant oldest) {}

  /** Looks at all lanes in all open slots. */
  public Backlog backlog(Instant now, int limit) {
    List<Object> lanes = new ArrayList<>();
    catalog.lanes().forEach(lane -> lanes.add(lane.id()));
    Sql.Column all = new Sql.Column("int4", lanes.toArray());
    long due = 0;
    Instant oldest = null;
    for (Slot slot : slots.open(now)) {
      Backlog here =
          db.inTransaction(
              tx ->
                  tx.query(
                          Sql.forSlot(COUNT_DUE, slot),
                          row -> new Backlog(row.getLong("due"), Sql.instant(row, "oldest")),
                          all,
                          limit,
                          limit)
                      .getFirst());
      due += here.due();
      Instant at = here.oldest();
      oldest = at != null && (oldest == null || at.isBefore(oldest)) ? at : oldest;
    }
    return new Backlog(Math.min(due, limit), oldest);
  }
}
