package carillon.store.queue;

import static java.util.stream.Collectors.joining;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DayRange;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import carillon.model.task.TaskType;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import carillon.store.db.Transitions;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The queue across all tenants: what is waiting, and the claim that takes it. How a claim ends is
 * in {@link Outcomes}.
 */
public final class WorkQueue {

  private static final int FULL_SWEEP = 10;
  private static final int FULL_SWEEP_UNTOLD = 2;

  /** Every sweep looks at a partition from so long before its day on. */
  private static final Duration BEFORE_ITS_DAY = Duration.ofMinutes(1);

  /** Partitions that one statement looks for expired tasks in: it locks all of them. */
  private static final int EXPIRED_TOGETHER = 16;

  /** Of payloads in one claim: they are held in memory several times until they are delivered. */
  private static final long MAX_BYTES = 16 << 20;

  private final Db db;
  private final Catalog catalog;
  private final Partitions partitions;
  private final Agenda agenda;
  private final AtomicInteger sweeps = new AtomicInteger();
  private final AtomicInteger expiries = new AtomicInteger();
  private volatile int fullSweep = FULL_SWEEP;
  private @Nullable Long sweptAt; // guarded by this
  private volatile Set<Partition> open = Set.of(); // at the last sweep
  private volatile Set<Partition> swept = Set.of(); // of those, since they are open

  public WorkQueue(Db db, Catalog catalog, Partitions partitions, Agenda agenda) {
    this.db = db;
    this.catalog = catalog;
    this.partitions = partitions;
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
           FROM carillon.task_{partition}
           WHERE ready_at IS NOT NULL
           ORDER BY lane, ready_at
           LIMIT 1)
          UNION ALL
          SELECT next.lane, next.ready_at
          FROM head
          CROSS JOIN LATERAL (
              SELECT lane, ready_at
              FROM carillon.task_{partition}
              WHERE ready_at IS NOT NULL
                AND lane > head.lane
              ORDER BY lane, ready_at
              LIMIT 1
          ) next
      )
      SELECT lane, ready_at
      FROM head
      """;

  private static final String SUSPECTS =
      """
      /* WorkQueue.suspects */
      SELECT line.lane, count(t.crashes) AS suspects
      FROM unnest(?::int[], ?::timestamptz[]) AS line (lane, from_at)
      CROSS JOIN LATERAL (
          SELECT t.crashes
          FROM carillon.task_{partition} t
          WHERE t.lane = line.lane
            AND t.ready_at BETWEEN line.from_at AND (SELECT clock_timestamp())
          ORDER BY t.ready_at
          LIMIT ? -- what else waits in the lane has no end
      ) t
      GROUP BY line.lane
      """;

  /**
   * How many tasks that a node may have died of wait in these lanes of a partition, among the first
   * so many of each.
   */
  public Map<Integer, Integer> suspects(Partition partition, List<Agenda.Entry> lanes, int limit) {
    Map<Integer, Integer> counts = new HashMap<>();
    db.ask(
        tx ->
            tx.query(
                Sql.forPartition(SUSPECTS, partition),
                row -> counts.put(row.getInt("lane"), row.getInt("suspects")),
                Column.ints(lanes, Agenda.Entry::lane),
                Column.instants(lanes, Agenda.Entry::from),
                limit));
    return counts;
  }

  private static final String CANCEL_REQUESTED =
      """
      /* WorkQueue.cancelRequested */
      SELECT t.id
      FROM unnest(?::int[], ?::uuid[]) AS held (tenant, id)
      JOIN carillon.task_{partition} t ON t.tenant = held.tenant AND t.id = held.id
      WHERE t.cancel_requested
      """;

  /** Which of these claimed tasks somebody asked to cancel after they were claimed. */
  public Set<TaskId> cancelRequested(List<ClaimedTask> tasks) {
    Map<Partition, List<ClaimedTask>> byPartition = new TreeMap<>();
    tasks.forEach(
        task ->
            byPartition.computeIfAbsent(task.id().partition(), _ -> new ArrayList<>()).add(task));
    Set<TaskId> requested = new HashSet<>();
    byPartition.forEach(
        (partition, held) ->
            requested.addAll(
                db.ask(
                    tx ->
                        tx.query(
                            Sql.forPartition(CANCEL_REQUESTED, partition),
                            row -> new TaskId(Sql.uuid(row, "id")),
                            Column.ints(held, task -> task.tenant().value()),
                            Column.uuids(held, task -> task.id().value())))));
    return requested;
  }

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
   * Notes in the agenda whatever waits in the partitions that are open by then. One before
   * yesterday, or one that was opened before its day, in which nothing is known to be due is looked
   * at when it is new here and every tenth time only: who makes something due in it notes it, be it
   * in a lane of another node, and tells that node.
   */
  public void sweep(Instant openBy) {
    Partition yesterday = Partition.of(openBy.minus(Duration.ofDays(1)));
    Partition today = Partition.of(openBy.plus(BEFORE_ITS_DAY));
    Set<Partition> shared =
        new HashSet<>(DayRange.sharedAt(openBy)); // may have tasks of today as well
    shared.addAll(DayRange.sharedAt(openBy.minus(Duration.ofDays(1))));
    Set<Partition> due = agenda.partitionsDueBy(openBy);
    boolean isFull = sweeps.getAndIncrement() % fullSweep == 0;
    List<Partition> opened = partitions.open(openBy);
    Set<Partition> before = swept;
    Set<Partition> all = Set.copyOf(opened);
    open = all;
    for (Partition partition : opened) {
      boolean isRecent =
          shared.contains(partition)
              || (partition.compareTo(yesterday) >= 0 && partition.compareTo(today) <= 0);
      // Until a partition was seen to be open, what others told of it was not believed.
      if (isFull || isRecent || due.contains(partition) || !before.contains(partition)) {
        sweepPartition(partition);
      }
    }
    swept = all;
  }

  /**
   * From now on every second sweep looks at all open partitions: other nodes tell this one nothing.
   */
  public void isToldNothing() {
    fullSweep = FULL_SWEEP_UNTOLD;
  }

  /** Whether a sweep has seen that something in this partition may be due. */
  public boolean isOpen(Partition partition) {
    return open.contains(partition);
  }

  private void sweepPartition(Partition partition) {
    agenda.swept(
        partition,
        db.ask(
            tx ->
                tx.query(
                    Sql.forPartition(SWEEP, partition),
                    row ->
                        new Agenda.Entry(
                            partition, row.getInt("lane"), Sql.requiredInstant(row, "ready_at")))));
  }

  /**
   * Claims due tasks of one partition: locks them, skipping what others are claiming, and makes
   * them RUNNING.
   */
  private static final String CLAIM_DUE =
      """
      /* WorkQueue.claimDue */
      WITH line AS MATERIALIZED (
          SELECT *
          FROM unnest(?::int[], ?::text[], ?::int[], ?::timestamptz[], ?::bigint[])
               AS l (lane, type, quota, from_at, lease_ms)
      ), due AS MATERIALIZED ( -- keeps every LIMIT exact: the planner may not run this part twice
          SELECT line.lane, line.type, line.lease_ms, t.*, sum(t.length) OVER (ROWS UNBOUNDED PRECEDING) AS bytes,
                 count(t.crashes) OVER (ROWS UNBOUNDED PRECEDING) AS suspects
          FROM line
          CROSS JOIN LATERAL (
              SELECT t.ctid AS row_id, t.tenant, t.id, t.ready_at, t.concurrency_key, t.crashes,
                     octet_length(t.payload) AS length
              FROM carillon.task_{partition} t
              WHERE t.lane = line.lane
                AND t.ready_at >= line.from_at
                AND t.ready_at <= (SELECT clock_timestamp()) -- asked once, so that the index can use it
                AND (t.expires_at IS NULL OR t.attempt > 0 OR t.expires_at > clock_timestamp())
                AND (t.crashes IS NULL OR ? > 0)
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
                  FROM carillon.task_{partition} t
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
            AND (due.bytes IS NULL OR due.bytes <= ?)
            AND (due.crashes IS NULL OR due.suspects <= ?)
          ORDER BY due.tenant, due.type, due.concurrency_key, due.ready_at
          ON CONFLICT DO NOTHING
          RETURNING task
      ), taken AS (
          UPDATE carillon.task_{partition} t
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
              output = NULL,
              request = NULL
          FROM due
          WHERE t.ctid = due.row_id
            AND t.state = 'PENDING'
            AND (due.bytes IS NULL OR due.bytes <= ?) -- as much as fits into memory at once
            AND (due.crashes IS NULL OR due.suspects <= ?) -- and as can be run apart
            AND (due.concurrency_key IS NULL OR due.id IN (SELECT task FROM keyed))
          RETURNING t.tenant, t.id, t.lane, t.attempt, t.fence, t.started_at, t.lease_until, t.due_at, t.key,
                    CASE WHEN ? THEN t.payload END AS payload, t.target, t.retry, t.partition, t.crashes, t.schedule,
                    t.fire_at, due.ready_at
      ), claimed AS (
          INSERT INTO carillon.claim (id, node, lease_until, partition, tenants, tasks)
          SELECT ?, ?, max(lease_until), partition, array_agg(tenant), array_agg(id)
          FROM taken
          GROUP BY partition
      )
      SELECT 'next' AS kind, lane, next_at, NULL::int AS tenant, NULL::uuid AS id, NULL::int AS attempt,
             NULL::int AS fence, NULL::timestamptz AS started_at, NULL::timestamptz AS lease_until,
             NULL::timestamptz AS due_at, NULL::timestamptz AS ready_at, NULL::text AS key, NULL::text AS payload,
             NULL::jsonb AS target, NULL::jsonb AS retry, NULL::smallint AS crashes, NULL::text AS schedule,
             NULL::timestamptz AS fire_at
      FROM next
      UNION ALL -- not joined: lanes x tasks would be compared one by one
      SELECT 'taken', lane, NULL, tenant, id, attempt, fence, started_at, lease_until, due_at, ready_at, key, payload,
             target, retry, crashes, schedule, fire_at
      FROM taken
      UNION ALL
      SELECT CASE WHEN id IN (SELECT task FROM keyed) THEN 'keyed' ELSE 'left' END, lane, NULL, tenant, id, NULL, NULL,
             NULL, NULL, NULL, ready_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM due
      WHERE concurrency_key IS NOT NULL OR bytes > ? OR (crashes IS NOT NULL AND suspects > ?)
      """;

  /**
   * What one claim took, and what is left.
   *
   * @param next per lane that was asked: when to come back, if anything is known to wait there
   */
  public record Claim(List<ClaimedTask> tasks, Map<Integer, Instant> next) {}

  /**
   * In whose name tasks are claimed, and what is read of them.
   *
   * @param claim names the claim, so that it can be found if the answer is lost
   * @param node whose lease covers the tasks; null if each task has a lease of its own
   * @param holder shown as the holder of the tasks
   * @param maxSuspects how many tasks may be claimed that a node may have died of
   * @param withPayload whether payloads are read; then they must fit into memory
   */
  public record Claimant(
      UUID claim, @Nullable String node, String holder, int maxSuspects, boolean withPayload) {

    /** A node that delivers the tasks. */
    public static Claimant node(UUID claim, String node, int maxSuspects) {
      return new Claimant(claim, node, node, maxSuspects, true);
    }

    /** A node that completes the tasks without delivering them. */
    public static Claimant discard(UUID claim, String node) {
      return new Claimant(claim, node, node, Integer.MAX_VALUE, false);
    }

    /** A worker or a broker's consumer, which reports under a lease per task. */
    public static Claimant reporter(UUID claim, String holder) {
      return new Claimant(claim, null, holder, Integer.MAX_VALUE, true);
    }

    private long maxBytes() {
      return withPayload ? MAX_BYTES : Long.MAX_VALUE;
    }
  }

  /** What the claim statement said of one lane: how many rows it locked, and the last of them. */
  private static final class Reached {
    private int rows;
    private Instant last = Instant.MIN;

    void add(Instant readyAt) {
      rows++;
      last = readyAt.isAfter(last) ? readyAt : last;
    }
  }

  /** Claims due tasks of one partition. */
  public Claim claimDue(Partition partition, List<Quota> quotas, Claimant claimant) {
    return db.inTransaction(tx -> claimDue(tx, partition, quotas, claimant));
  }

  /** Claims for a worker, which holds a lease for each task. */
  public Claim claimForWorker(Tx tx, Partition partition, Quota quota, String worker) {
    return claimDue(tx, partition, List.of(quota), Claimant.reporter(UUID.randomUUID(), worker));
  }

  private Claim claimDue(Tx tx, Partition partition, List<Quota> quotas, Claimant claimant) {
    Map<Integer, Instant> next = new HashMap<>();
    Map<Integer, Reached> reached = new HashMap<>();
    List<ClaimedTask> tasks = new ArrayList<>();
    Set<UUID> keyed = new HashSet<>();
    Set<Integer> leftBehind = new HashSet<>();
    tx.query(
        Sql.forPartition(CLAIM_DUE, partition),
        row -> {
          int lane = row.getInt("lane");
          String kind = row.getString("kind");
          switch (kind) {
            case "next" -> putIfKnown(next, lane, Sql.instant(row, "next_at"));
            case "taken" -> {
              ClaimedTask task = claimed(row, catalog.lane(lane), claimant.claim());
              tasks.add(task);
              reached.computeIfAbsent(lane, _ -> new Reached()).add(task.readyAt());
            }
            case "keyed" -> keyed.add(Sql.uuid(row, "id"));
            default -> leftBehind.add(lane);
          }
          return kind;
        },
        Column.ints(quotas, quota -> quota.lane().id()),
        Column.texts(quotas, quota -> quota.lane().type()),
        Column.ints(quotas, Quota::tasks),
        Column.instants(quotas, quota -> quota.from()),
        Column.longs(quotas, quota -> quota.lease() == null ? null : quota.lease().toMillis()),
        claimant.maxSuspects(),
        claimant.maxBytes(),
        claimant.maxSuspects(),
        claimant.claim(),
        claimant.holder(),
        claimant.maxBytes(),
        claimant.maxSuspects(),
        claimant.withPayload(),
        claimant.claim(),
        claimant.node(),
        claimant.maxBytes(),
        claimant.maxSuspects());
    tasks.forEach(task -> keyed.remove(task.id().value()));
    if (!keyed.isEmpty()) {
      // Changed by somebody between our look and our lock, so not taken; the key must not stay.
      tx.update(FREE_KEYS, Column.uuids(keyed, id -> id));
    }
    for (Quota quota : quotas) {
      int lane = quota.lane().id();
      Reached here = reached.get(lane);
      if (here != null && here.rows >= quota.tasks()) {
        next.put(lane, here.last); // probably more, from where this claim ended
      } else if (leftBehind.contains(lane)) {
        next.put(lane, quota.from()); // rows were in reach that this claim could not have
      }
    }
    tx.claimed(tasks);
    return new Claim(tasks, next);
  }

  private static void putIfKnown(Map<Integer, Instant> next, int lane, @Nullable Instant at) {
    if (at != null) {
      next.put(lane, at);
    }
  }

  private static final String FREE_KEYS =
      """
      /* WorkQueue.freeKeys */
      DELETE FROM carillon.running_key
      WHERE task = ANY (?)
      """;

  private ClaimedTask claimed(ResultSet row, Lane lane, UUID claim) throws SQLException {
    TaskType type = catalog.type(lane);
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
        type.signingSecrets(),
        row.getInt("crashes"),
        type.statuses(),
        row.getString("schedule"),
        Sql.instant(row, "fire_at"));
  }

  private static final String EXPIRE =
      """
      /* WorkQueue.expireDue */
      WITH late AS MATERIALIZED (
          SELECT t.tenant, t.id
          FROM carillon.task_{partition} t
          WHERE t.expires_at <= (SELECT clock_timestamp())
            AND t.ready_at IS NOT NULL
            AND t.attempt = 0
          ORDER BY t.expires_at
          LIMIT ?
          FOR UPDATE OF t SKIP LOCKED
      ), expired AS (
          UPDATE carillon.task_{partition} t
          SET state = 'EXPIRED',
              ready_at = NULL,
              finished_at = clock_timestamp(),
              version = t.version + 1
          FROM late
          WHERE t.tenant = late.tenant
            AND t.id = late.id
            AND t.state = 'PENDING'
          RETURNING t.tenant, t.id, t.partition, t.lane, t.attempt, t.fence
      ), trail AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who)
          SELECT tenant, id, partition, clock_timestamp(), 'PENDING', 'EXPIRED', fence, 'carillon'
          FROM expired
      )
      SELECT id, lane, attempt
      FROM expired
      """;

  // Through the parent, so that one look finds the partitions with something to do. They are
  // constants:
  // the planner leaves out all others before they are locked.
  private static final String LATE_PARTITIONS =
      """
      /* WorkQueue.latePartitions */
      SELECT DISTINCT partition
      FROM (
          SELECT partition
          FROM carillon.task
          WHERE partition = ANY ('{{days}}'::date[])
            AND expires_at <= (SELECT clock_timestamp())
            AND ready_at IS NOT NULL
            AND attempt = 0
          ORDER BY expires_at
          LIMIT ?
      ) late
      """;

  /**
   * Where nothing waited when statistics were taken, the planner believes that the whole queue is
   * read sooner than the index of what expires. It would have to sort then.
   */
  private static final String BY_EXPIRY =
      """
      /* WorkQueue.byExpiry */
      SET LOCAL enable_sort = off
      """;

  /**
   * Ends tasks that were not started in time, also where nobody claims; says how many. Nothing
   * expires before it is due, so only open partitions are looked at, and most old ones every tenth
   * time.
   */
  public int expireDue(int limit) {
    List<Partition> open = partitions.openNow(expiries.getAndIncrement() % FULL_SWEEP == 0);
    int expired = 0;
    for (int from = 0; from < open.size(); from += EXPIRED_TOGETHER) {
      List<Partition> next = open.subList(from, Math.min(open.size(), from + EXPIRED_TOGETHER));
      for (Partition partition : db.inTransaction(tx -> latePartitions(tx, next, limit))) {
        expired += db.inTransaction(tx -> expire(tx, partition, limit));
      }
    }
    return expired;
  }

  private static List<Partition> latePartitions(Tx tx, List<Partition> partitions, int limit) {
    tx.update(BY_EXPIRY);
    String days =
        partitions.stream().map(partition -> partition.day().toString()).collect(joining(","));
    return tx.query(
        LATE_PARTITIONS.replace("{days}", days),
        row -> new Partition(row.getObject("partition", LocalDate.class)),
        limit);
  }

  private static int expire(Tx tx, Partition partition, int limit) {
    tx.update(BY_EXPIRY);
    List<Transitions.Moved> expired =
        tx.query(
            Sql.forPartition(EXPIRE, partition),
            row -> Sql.moved(row, TaskState.PENDING, TaskState.EXPIRED),
            limit);
    tx.moved(expired);
    return expired.size();
  }

  /** Cancels what users asked to cancel in SQL while it ran; says how many requests there were. */
  public int cancelRequested(int limit) {
    return db.inTransaction(tx -> CancelRequests.apply(tx, limit));
  }
}
