package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskType;
import carillon.store.catalog.Catalog;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The queue across all tenants: the claim that takes due tasks. {@link QueueSweep} finds the lanes
 * to claim from, and {@link Outcomes} ends a claim.
 */
public final class WorkQueue {

  /** Payload bytes per claim: they are in memory several times until they are delivered. */
  private static final long MAX_BYTES = 16 << 20;

  private final Db db;
  private final Catalog catalog;

  public WorkQueue(Db db, Catalog catalog) {
    this.db = db;
    this.catalog = catalog;
  }

  /**
   * How many tasks a lane may release.
   *
   * @param from where in the lane to start
   * @param lease how long each is held without renewal; null where the node's own lease covers it
   */
  public record Quota(Lane lane, int tasks, Instant from, @Nullable Duration lease) {}

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
          LIMIT ? -- the lane may be very long
      ) t
      GROUP BY line.lane
      """;

  /**
   * Counts the suspects that wait in these lanes of a partition, among the first {@code limit}
   * tasks of each lane.
   */
  public Map<Integer, Integer> suspects(Partition partition, List<Agenda.Entry> lanes, int limit) {
    Map<Integer, Integer> counts = new HashMap<>();
    db.autoCommit(
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

  /** The claimed tasks whose cancel was requested after the claim. */
  public Set<TaskId> cancelRequested(List<ClaimedTask> tasks) {
    Map<Partition, List<ClaimedTask>> byPartition = new TreeMap<>();
    tasks.forEach(
        task ->
            byPartition.computeIfAbsent(task.id().partition(), _ -> new ArrayList<>()).add(task));
    Set<TaskId> requested = new HashSet<>();
    byPartition.forEach(
        (partition, held) ->
            requested.addAll(
                db.autoCommit(
                    tx ->
                        tx.query(
                            Sql.forPartition(CANCEL_REQUESTED, partition),
                            row -> new TaskId(Sql.uuid(row, "id")),
                            Column.ints(held, task -> task.tenant().value()),
                            Column.uuids(held, task -> task.id().value())))));
    return requested;
  }

  /**
   * Claims due tasks of one partition: locks them, skipping rows that other claims lock, and makes
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
                AND t.ready_at <= (SELECT clock_timestamp()) -- read once, so that the index can use it
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
      ), keyed AS ( -- decides between tasks with the same key, in this claim and in others
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
   * The tasks of a claim.
   *
   * @param next per lane: when to claim again, if tasks are known to wait there
   */
  public record Claim(List<ClaimedTask> tasks, Map<Integer, Instant> next) {}

  /**
   * The holder of the claimed tasks, and whether their payload is read.
   *
   * @param claim the id of the claim, by which it is found if the response is lost
   * @param node the node whose lease covers the tasks; null if each task has its own lease
   * @param holder shown as the holder of the tasks
   * @param maxSuspects how many suspects may be claimed
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

  /** The rows that the claim statement locked in one lane, and the last of them. */
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
      // The row changed between snapshot and lock, so it was not claimed; its key must be freed.
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
}
