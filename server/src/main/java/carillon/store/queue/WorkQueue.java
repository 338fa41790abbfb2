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
 * The queue across all tenants. The one place where tasks are claimed: {@link #claimDue} for nodes,
 * {@link #claimForWorker} for workers. {@link QueueSweep} finds the lanes to claim from, {@link
 * Outcomes} saves how the tasks end, and {@link HeldClaims} reaps claims whose holder was lost.
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

  /** When the next task of each lane becomes ready. */
  private static final String NEXT_DUE =
      """
      /* WorkQueue.nextDue */
      SELECT line.lane,
             (SELECT t.ready_at
              FROM carillon.task_{partition} t
              WHERE t.lane = line.lane
                AND t.ready_at > (SELECT clock_timestamp()) -- read once, so that the index can use it
              ORDER BY t.ready_at
              LIMIT 1) AS next_at
      FROM unnest(?::int[]) AS line (lane)
      """;

  /**
   * Claims due tasks of one partition: locks them, skipping rows that other claims lock, and makes
   * them RUNNING. Returns one row per claimed task, and one row without a task if there is none.
   */
  private static final String CLAIM_DUE =
      """
      /* WorkQueue.claimDue */
      WITH arg AS MATERIALIZED (
          SELECT ?::uuid AS claim, ?::text AS node, ?::text AS holder, ?::int AS max_suspects,
                 ?::bigint AS max_bytes, ?::boolean AS with_payload
      ), line AS MATERIALIZED (
          SELECT *
          FROM unnest(?::int[], ?::text[], ?::int[], ?::timestamptz[], ?::bigint[])
               AS l (lane, type, quota, from_at, lease_ms)
      ), due AS MATERIALIZED ( -- keeps every LIMIT exact: the planner may not run this part twice
          SELECT found.*,
                 (bytes IS NULL OR bytes <= (SELECT max_bytes FROM arg)) -- fits into memory
                 AND (crashes IS NULL OR suspects <= (SELECT max_suspects FROM arg)) -- can be run apart
                 -- A row that changed between snapshot and lock is not updated below. It must not take a
                 -- key either: nobody would free it.
                 AND (concurrency_key IS NULL
                      OR EXISTS (SELECT FROM carillon.task_{partition} t WHERE t.ctid = found.row_id))
                     AS can_take
          FROM (
              SELECT line.lane, line.type, line.lease_ms, t.*,
                     sum(t.length) OVER (ROWS UNBOUNDED PRECEDING) AS bytes,
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
                    AND (t.crashes IS NULL OR (SELECT max_suspects FROM arg) > 0)
                    AND (t.concurrency_key IS NULL
                         OR NOT EXISTS (SELECT FROM carillon.running_key k
                                        WHERE k.tenant = t.tenant
                                          AND k.type = line.type
                                          AND k.key = t.concurrency_key))
                  ORDER BY t.ready_at
                  LIMIT line.quota
                  FOR UPDATE OF t SKIP LOCKED
              ) t
          ) found
      ), keyed AS ( -- decides between tasks with the same key, in this claim and in others
          INSERT INTO carillon.running_key (tenant, type, key, task)
          SELECT due.tenant, due.type, due.concurrency_key, due.id
          FROM due
          WHERE due.concurrency_key IS NOT NULL
            AND due.can_take
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
              claim = (SELECT claim FROM arg),
              leased_by = (SELECT holder FROM arg),
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
            AND due.can_take -- with a key, this is all that may exclude a row: see keyed
            AND (due.concurrency_key IS NULL OR due.id IN (SELECT task FROM keyed))
          RETURNING t.tenant, t.id, t.lane, t.attempt, t.fence, t.started_at, t.lease_until, t.due_at,
                    due.ready_at, t.key, CASE WHEN (SELECT with_payload FROM arg) THEN t.payload END AS payload,
                    t.target, t.retry, t.partition, t.crashes, t.schedule, t.fire_at
      ), claimed AS (
          INSERT INTO carillon.claim (id, node, lease_until, partition, tenants, tasks)
          SELECT (SELECT claim FROM arg), (SELECT node FROM arg), max(lease_until), partition, array_agg(tenant),
                 array_agg(id)
          FROM taken
          GROUP BY partition
      ), left_behind AS ( -- lanes with tasks left: too large, over the limit of suspects, or without their key
          SELECT array_agg(DISTINCT lane) AS lanes
          FROM due
          WHERE NOT can_take
             OR (concurrency_key IS NOT NULL AND id NOT IN (SELECT task FROM keyed))
      )
      SELECT CASE WHEN row_number() OVER () = 1 THEN left_behind.lanes END AS left_behind, taken.*
      FROM left_behind
      LEFT JOIN taken ON true
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

  /** The tasks claimed from one lane, and when the last of them became ready. */
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
    Set<Integer> leftBehind = new HashSet<>();
    List<ClaimedTask> tasks = new ArrayList<>();
    // In this order: a task that comes due in between is seen by both, which costs an empty claim.
    // The other way round, neither would see it until the next sweep.
    tx.queryTogether(
        nextDue(partition, quotas, next), claim(partition, quotas, claimant, tasks, leftBehind));
    Map<Integer, Reached> reached = new HashMap<>();
    tasks.forEach(
        task -> reached.computeIfAbsent(task.lane(), _ -> new Reached()).add(task.readyAt()));
    for (Quota quota : quotas) {
      int lane = quota.lane().id();
      Reached here = reached.get(lane);
      if (here != null && here.rows >= quota.tasks()) {
        next.put(lane, here.last); // probably more, from where this claim ended
      } else if (leftBehind.contains(lane)) {
        next.put(lane, quota.from());
      }
    }
    tx.claimed(tasks);
    return new Claim(tasks, next);
  }

  private static Tx.Query nextDue(
      Partition partition, List<Quota> quotas, Map<Integer, Instant> next) {
    return Tx.Query.of(
        Sql.forPartition(NEXT_DUE, partition),
        row -> {
          Instant at = Sql.instant(row, "next_at");
          if (at != null) {
            next.put(row.getInt("lane"), at);
          }
        },
        Column.ints(quotas, quota -> quota.lane().id()));
  }

  private Tx.Query claim(
      Partition partition,
      List<Quota> quotas,
      Claimant claimant,
      List<ClaimedTask> tasks,
      Set<Integer> leftBehind) {
    return Tx.Query.of(
        Sql.forPartition(CLAIM_DUE, partition),
        row -> {
          if (row.getArray("left_behind") != null) { // in the first row only
            leftBehind.addAll(List.of(Sql.integers(row, "left_behind")));
          }
          if (row.getObject("id") != null) {
            tasks.add(claimed(row, claimant.claim()));
          }
        },
        // arg
        claimant.claim(),
        claimant.node(),
        claimant.holder(),
        claimant.maxSuspects(),
        claimant.maxBytes(),
        claimant.withPayload(),
        // line
        Column.ints(quotas, quota -> quota.lane().id()),
        Column.texts(quotas, quota -> quota.lane().type()),
        Column.ints(quotas, Quota::tasks),
        Column.instants(quotas, Quota::from),
        Column.longs(quotas, quota -> quota.lease() == null ? null : quota.lease().toMillis()));
  }

  private ClaimedTask claimed(ResultSet row, UUID claim) throws SQLException {
    Lane lane = catalog.lane(row.getInt("lane"));
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
