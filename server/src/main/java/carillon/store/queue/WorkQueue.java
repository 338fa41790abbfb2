package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.TaskId;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queue across all tenants. The one place where waiting tasks are claimed: {@link #claimDue}
 * for nodes, {@link #claimForWorker} for workers. New tasks that never wait are claimed in {@link
 * carillon.store.tasks.TaskInserts}. {@link QueueSweep} finds the lanes to claim from, {@link
 * Outcomes} saves how the tasks end, and {@link HeldClaims} reaps claims whose holder was lost.
 */
public final class WorkQueue {

  private static final Logger log = LoggerFactory.getLogger(WorkQueue.class);

  /** The maximum number of tasks per claim. */
  public static final int MAX_TASKS = 2_000;

  /** Payload bytes per claim: they are in memory several times until they are delivered. */
  private static final int MAX_BYTES = 16 << 20;

  /** A claim cannot exceed {@link #MAX_BYTES} if no payload is longer than this. */
  private static final int MAX_PLAIN_LENGTH = MAX_BYTES / MAX_TASKS;

  private final Db db;
  private final Catalog catalog;
  private final LanesForFullClaim lanesForFullClaim = new LanesForFullClaim(System::nanoTime);

  public WorkQueue(Db db, Catalog catalog) {
    this.db = db;
    this.catalog = catalog;
  }

  /**
   * How many tasks a lane may release.
   *
   * @param from where in the lane to start
   */
  public record Quota(Lane lane, int tasks, Instant from) {}

  private static final String SUSPECTS =
      """
      /* WorkQueue.suspects */
      SELECT line.lane, count(q.crashes) AS suspects
      FROM unnest(?::int[], ?::timestamptz[]) AS line (lane, from_at)
      CROSS JOIN LATERAL (
          SELECT q.crashes
          FROM carillon.queue_{partition} q
          WHERE q.lane = line.lane
            AND q.ready_at BETWEEN line.from_at AND (SELECT clock_timestamp())
          ORDER BY q.ready_at
          LIMIT ? -- the lane may be very long
      ) q
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
   * The tasks of a claim.
   *
   * @param next per lane: when to claim again, if tasks are known to wait there
   * @param needsFullClaim lanes with due tasks that the plain form left; their next claim is full
   * @param hasMore whether a lane released all that it may, so that probably more is due there
   */
  public record Claim(
      List<ClaimedTask> tasks,
      Map<Integer, Instant> next,
      Set<Integer> needsFullClaim,
      boolean hasMore) {}

  /**
   * The holder of the claimed tasks, and whether their payload is read.
   *
   * @param claim the id of the claim, by which it is found if the response is lost
   * @param node the node whose lease covers the tasks; null if the claim has a lease of its own
   * @param holder shown as the holder of the tasks
   * @param lease how long the tasks are held without renewal; null where the node's lease covers
   *     them
   * @param maxSuspects how many suspects may be claimed
   * @param withContent whether the tasks are delivered; then their payloads must fit into memory
   */
  public record Claimant(
      UUID claim,
      @Nullable String node,
      String holder,
      @Nullable Duration lease,
      int maxSuspects,
      boolean withContent) {

    /** A node that delivers the tasks. */
    public static Claimant node(UUID claim, String node, int maxSuspects) {
      return new Claimant(claim, node, node, null, maxSuspects, true);
    }

    /** A node that completes the tasks without delivering them. */
    public static Claimant discard(UUID claim, String node) {
      return new Claimant(claim, node, node, null, Integer.MAX_VALUE, false);
    }

    /** A worker or a broker's consumer, which reports under its own lease. */
    public static Claimant reporter(UUID claim, String holder, Duration lease) {
      return new Claimant(claim, null, holder, lease, Integer.MAX_VALUE, true);
    }

    private long maxBytes() {
      return withContent ? MAX_BYTES : Long.MAX_VALUE;
    }

    private int maxPlainLength() {
      return withContent ? MAX_PLAIN_LENGTH : Integer.MAX_VALUE;
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

  /** With the tenant: a task restored for two tenants has the same id in both. */
  private record TaskRef(int tenant, UUID id) {

    static TaskRef of(ResultSet row) throws SQLException {
      return new TaskRef(row.getInt("tenant"), Sql.uuid(row, "id"));
    }
  }

  /** A claimed task as the claim saw it. */
  private record Taken(
      TaskRef task, int lane, int attempt, int fence, Instant readyAt, Instant at, int crashes) {

    static Taken of(ResultSet row) throws SQLException {
      return new Taken(
          TaskRef.of(row),
          row.getInt("lane"),
          row.getInt("attempt"),
          row.getInt("fence"),
          Sql.requiredInstant(row, "ready_at"),
          Sql.requiredInstant(row, "now"),
          row.getInt("crashes"));
    }
  }

  /** What is read of a task that will be delivered. */
  private record Content(
      Instant dueAt,
      @Nullable String key,
      @Nullable String payload,
      @Nullable Target target,
      @Nullable RetryPolicy retry,
      @Nullable String schedule,
      @Nullable Instant fireAt) {

    static Content of(ResultSet row) throws SQLException {
      String target = row.getString("target");
      String retry = row.getString("retry");
      return new Content(
          Sql.requiredInstant(row, "due_at"),
          row.getString("key"),
          row.getString("payload"),
          target == null ? null : Json.target(target),
          retry == null ? null : Json.retry(retry),
          row.getString("schedule"),
          Sql.instant(row, "fire_at"));
    }

    /** Of a task that is not delivered: nothing depends on it. */
    static Content notRead(Taken taken) {
      return new Content(taken.readyAt(), null, null, null, null, null, null);
    }
  }

  /** Claims due tasks of one partition. */
  public Claim claimDue(Partition partition, List<Quota> quotas, Claimant claimant) {
    return db.inTransaction(tx -> claimDue(tx, partition, quotas, claimant));
  }

  /**
   * Claims for a worker, which holds a lease for its tasks. Repeats the claim in the full form
   * where that is needed: the worker's next request may come much later, and to another node.
   */
  public Claim claimForWorker(
      Tx tx, Partition partition, Quota quota, String worker, Duration lease) {
    Claim claim = claimForWorkerOnce(tx, partition, quota, worker, lease);
    int left = quota.tasks() - claim.tasks().size();
    if (claim.needsFullClaim().isEmpty() || left == 0) {
      return claim;
    }
    Quota rest = new Quota(quota.lane(), left, quota.from());
    Claim full = claimForWorkerOnce(tx, partition, rest, worker, lease);
    List<ClaimedTask> tasks = new ArrayList<>(claim.tasks());
    tasks.addAll(full.tasks());
    return new Claim(tasks, full.next(), full.needsFullClaim(), full.hasMore());
  }

  private Claim claimForWorkerOnce(
      Tx tx, Partition partition, Quota quota, String worker, Duration lease) {
    return claimDue(
        tx, partition, List.of(quota), Claimant.reporter(UUID.randomUUID(), worker, lease));
  }

  /** Whether a claim from this lane must decide about its tasks one by one. */
  public boolean needsFullClaim(int lane) {
    return lanesForFullClaim.has(lane);
  }

  /** What the statement of a claim returns. */
  private static final class Found {
    private final List<Taken> taken = new ArrayList<>();
    private final Set<Integer> leftBehind = new HashSet<>(); // lanes
    private final Set<Integer> needsFull = new HashSet<>(); // lanes
    private long wanted;
    private boolean hasHeader;

    /** Whether this is the first row: every row repeats what is about the whole claim. */
    boolean isFirstRow() {
      boolean isFirst = !hasHeader;
      hasHeader = true;
      return isFirst;
    }

    /** A row that the claim wanted had changed between its snapshot and its lock. */
    boolean hasMissed() {
      return taken.size() < wanted;
    }
  }

  private Claim claimDue(Tx tx, Partition partition, List<Quota> quotas, Claimant claimant) {
    Map<Integer, Instant> next = new HashMap<>();
    Found found = new Found();
    Map<TaskRef, Content> contents = new HashMap<>();
    boolean isPlain = quotas.stream().noneMatch(quota -> needsFullClaim(quota.lane().id()));
    // In this order: a task that comes due in between is seen by both, which costs an empty claim.
    // The other way round, neither would see it until the next sweep.
    List<Tx.Query> queries = new ArrayList<>();
    queries.add(nextDue(partition, quotas, next));
    queries.add(
        isPlain
            ? claimPlain(partition, quotas, claimant, found)
            : claimFull(partition, quotas, claimant, found));
    if (claimant.withContent()) {
      queries.add(content(partition, claimant, contents));
    }
    tx.queryTogether(queries);
    (isPlain ? found.leftBehind : found.needsFull).forEach(lanesForFullClaim::add);
    boolean hasMore = putNext(quotas, found, next);
    List<ClaimedTask> tasks = new ArrayList<>(found.taken.size());
    for (Taken one : found.taken) {
      Content content = claimant.withContent() ? contents.get(one.task()) : Content.notRead(one);
      if (content == null) {
        log.error("task in queue had ended task={} lane={}", one.task().id(), one.lane());
      } else {
        tasks.add(claimed(one, content, claimant));
      }
    }
    tx.claimed(tasks);
    return new Claim(tasks, next, isPlain ? found.leftBehind : Set.of(), hasMore);
  }

  /**
   * Adds when to claim again from lanes that have more due tasks. Returns whether a lane gave all
   * that it may.
   */
  private static boolean putNext(List<Quota> quotas, Found found, Map<Integer, Instant> next) {
    Map<Integer, Reached> reached = new HashMap<>();
    found.taken.forEach(
        one -> reached.computeIfAbsent(one.lane(), _ -> new Reached()).add(one.readyAt()));
    boolean hasMore = false;
    for (Quota quota : quotas) {
      int lane = quota.lane().id();
      Reached here = reached.get(lane);
      if (found.leftBehind.contains(lane) || found.hasMissed()) {
        next.put(lane, quota.from()); // the row that changed may be in any lane, and still be due
      } else if (here != null && here.rows >= quota.tasks()) {
        next.put(lane, here.last); // from where this claim ended
        hasMore = true;
      }
    }
    return hasMore;
  }

  /** When the next task of each lane becomes ready. */
  private static final String NEXT_DUE =
      """
      /* WorkQueue.nextDue */
      SELECT line.lane,
             (SELECT q.ready_at
              FROM carillon.queue_{partition} q
              WHERE q.lane = line.lane
                AND q.ready_at > (SELECT clock_timestamp()) -- read once, so that the index can use it
              ORDER BY q.ready_at
              LIMIT 1) AS next_at
      FROM unnest(?::int[]) AS line (lane)
      """;

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

  /** The row of a claim, from the tasks that were taken. */
  private static final String CLAIM_ROW =
      """
      INSERT INTO carillon.claim (
              id, node, leased_by, started_at, lease_until, check_at, partition, tenants, tasks, fences)
          SELECT arg.claim, arg.node, arg.holder, arg.now, arg.now + arg.lease_ms * interval '1 millisecond',
                 arg.now + arg.lease_ms * interval '1 millisecond', DATE '{day}', t.tenants, t.tasks, t.fences
          FROM arg
          CROSS JOIN (SELECT array_agg(tenant) AS tenants, array_agg(id) AS tasks, array_agg(fence) AS fences FROM taken) t
          WHERE t.tasks IS NOT NULL\
      """;

  /**
   * Claims due tasks of one partition that need no decision beyond their turn: deletes their rows
   * in the queue, skipping rows that others have locked, and lists the tasks in a row of claim.
   * Returns one row per claimed task, and one row without a task if there is none. Rows that {@link
   * #CLAIM_FULL} must decide about are left, and their lanes named.
   */
  private static final String CLAIM_PLAIN =
      """
      /* WorkQueue.claimPlain */
      WITH arg AS MATERIALIZED (
          SELECT ?::uuid AS claim, ?::text AS node, ?::text AS holder, ?::bigint AS lease_ms, ?::int AS max_length,
                 clock_timestamp() AS now
      ), line AS MATERIALIZED (
          SELECT *
          FROM unnest(?::int[], ?::int[], ?::int[], ?::timestamptz[]) AS l (lane, tenant, quota, from_at)
      ), due AS MATERIALIZED ( -- keeps every LIMIT exact: the planner may not run this part twice
          SELECT line.tenant, q.row_id, q.lane,
                 q.crashes IS NULL AND q.concurrency_key IS NULL AND q.payload_bytes <= (SELECT max_length FROM arg)
                     AS is_plain
          FROM line
          CROSS JOIN LATERAL (
              SELECT q.ctid AS row_id, q.lane, q.crashes, q.concurrency_key, q.payload_bytes
              FROM carillon.queue_{partition} q
              WHERE q.lane = line.lane
                AND q.ready_at >= line.from_at
                AND q.ready_at <= (SELECT now FROM arg)
                AND (q.expires_at IS NULL OR q.expires_at > (SELECT now FROM arg))
              ORDER BY q.ready_at
              LIMIT line.quota
              FOR UPDATE OF q SKIP LOCKED
          ) q
      ), taken AS (
          DELETE FROM carillon.queue_{partition} q
          USING due
          WHERE q.ctid = due.row_id -- a row that changed between snapshot and lock is no longer there
            AND due.is_plain
          RETURNING due.tenant, q.id, q.lane, q.attempt + 1 AS attempt, q.fence + 1 AS fence, q.ready_at
      ), claimed AS (
          %s
      ), left_behind AS (
          SELECT array_agg(DISTINCT lane) AS lanes, count(*) AS rows
          FROM due
          WHERE NOT is_plain
      )
      SELECT left_behind.lanes AS left_behind, (SELECT count(*) FROM due) - left_behind.rows AS wanted, arg.now,
             taken.*, NULL::smallint AS crashes
      FROM arg
      CROSS JOIN left_behind
      LEFT JOIN taken ON true
      """
          .formatted(CLAIM_ROW);

  private static Tx.Query claimPlain(
      Partition partition, List<Quota> quotas, Claimant claimant, Found found) {
    return Tx.Query.of(
        Sql.forPartition(CLAIM_PLAIN, partition),
        row -> {
          if (found.isFirstRow()) {
            addAll(found.leftBehind, row, "left_behind");
            found.wanted = row.getLong("wanted");
          }
          addTaken(found.taken, row);
        },
        // arg
        claimant.claim(),
        claimant.node(),
        claimant.holder(),
        claimant.lease(),
        claimant.maxPlainLength(),
        // line
        Column.ints(quotas, quota -> quota.lane().id()),
        Column.ints(quotas, quota -> quota.lane().tenant().value()),
        Column.ints(quotas, Quota::tasks),
        Column.instants(quotas, Quota::from));
  }

  /**
   * Does what {@link #CLAIM_PLAIN} does, for all tasks: keeps within the memory for large payloads,
   * limits the suspects, and takes the concurrency keys.
   */
  private static final String CLAIM_FULL =
      """
      /* WorkQueue.claimFull */
      WITH arg AS MATERIALIZED (
          SELECT ?::uuid AS claim, ?::text AS node, ?::text AS holder, ?::bigint AS lease_ms, ?::bigint AS max_bytes,
                 ?::int AS max_suspects, clock_timestamp() AS now
      ), line AS MATERIALIZED (
          SELECT *
          FROM unnest(?::int[], ?::int[], ?::text[], ?::int[], ?::timestamptz[])
               AS l (lane, tenant, type, quota, from_at)
      ), due AS MATERIALIZED ( -- keeps every LIMIT exact: the planner may not run this part twice
          SELECT found.*,
                 bytes <= (SELECT max_bytes FROM arg) -- fits into memory
                 AND (crashes IS NULL OR suspects <= (SELECT max_suspects FROM arg)) -- can be run apart
                 -- A row that changed between snapshot and lock is not deleted below. It must not take a
                 -- key either: nobody would free it.
                 AND (concurrency_key IS NULL
                      -- Not EXISTS: for that, the planner may read the whole queue.
                      OR coalesce((SELECT true FROM carillon.queue_{partition} q WHERE q.ctid = found.row_id), false))
                     AS can_take
          FROM (
              SELECT line.tenant, line.type, q.*,
                     sum(q.payload_bytes) OVER (ROWS UNBOUNDED PRECEDING) AS bytes,
                     count(q.crashes) OVER (ROWS UNBOUNDED PRECEDING) AS suspects
              FROM line
              CROSS JOIN LATERAL (
                  SELECT q.ctid AS row_id, q.id, q.lane, q.ready_at, q.concurrency_key, q.crashes, q.payload_bytes
                  FROM carillon.queue_{partition} q
                  WHERE q.lane = line.lane
                    AND q.ready_at >= line.from_at
                    AND q.ready_at <= (SELECT now FROM arg)
                    AND (q.expires_at IS NULL OR q.expires_at > (SELECT now FROM arg))
                    AND (q.crashes IS NULL OR (SELECT max_suspects FROM arg) > 0)
                    AND (q.concurrency_key IS NULL
                         OR NOT EXISTS (SELECT FROM carillon.running_key k
                                        WHERE k.tenant = line.tenant
                                          AND k.type = line.type
                                          AND k.key = q.concurrency_key))
                  ORDER BY q.ready_at
                  LIMIT line.quota
                  FOR UPDATE OF q SKIP LOCKED
              ) q
          ) found
      ), keyed AS ( -- decides between tasks with the same key, in this claim and in others
          INSERT INTO carillon.running_key (tenant, type, key, task)
          SELECT due.tenant, due.type, due.concurrency_key, due.id
          FROM due
          WHERE due.concurrency_key IS NOT NULL
            AND due.can_take
          ORDER BY due.tenant, due.type, due.concurrency_key, due.ready_at
          ON CONFLICT DO NOTHING
          RETURNING tenant, task
      ), taken AS (
          DELETE FROM carillon.queue_{partition} q
          USING due
          WHERE q.ctid = due.row_id
            AND due.can_take -- nothing else may exclude a row with a key: its key would never be freed
            AND (due.concurrency_key IS NULL OR (due.tenant, due.id) IN (SELECT tenant, task FROM keyed))
          RETURNING due.tenant, q.id, q.lane, q.attempt + 1 AS attempt, q.fence + 1 AS fence, q.ready_at, q.crashes
      ), claimed AS (
          %s
      ), left_behind AS ( -- lanes with tasks left: too large, over the limit of suspects, or without their key
          SELECT array_agg(DISTINCT lane) AS lanes, count(*) AS rows
          FROM due
          WHERE NOT can_take
             OR (concurrency_key IS NOT NULL AND (tenant, id) NOT IN (SELECT tenant, task FROM keyed))
      ), needs_full AS (
          SELECT array_agg(DISTINCT lane) AS lanes
          FROM due
          WHERE crashes IS NOT NULL
             OR concurrency_key IS NOT NULL
             OR payload_bytes > ?
      )
      SELECT left_behind.lanes AS left_behind, (SELECT count(*) FROM due) - left_behind.rows AS wanted,
             needs_full.lanes AS needs_full, arg.now, taken.*
      FROM arg
      CROSS JOIN left_behind
      CROSS JOIN needs_full
      LEFT JOIN taken ON true
      """
          .formatted(CLAIM_ROW);

  private static Tx.Query claimFull(
      Partition partition, List<Quota> quotas, Claimant claimant, Found found) {
    return Tx.Query.of(
        Sql.forPartition(CLAIM_FULL, partition),
        row -> {
          if (found.isFirstRow()) {
            addAll(found.leftBehind, row, "left_behind");
            addAll(found.needsFull, row, "needs_full");
            found.wanted = row.getLong("wanted");
          }
          addTaken(found.taken, row);
        },
        // arg
        claimant.claim(),
        claimant.node(),
        claimant.holder(),
        claimant.lease(),
        claimant.maxBytes(),
        claimant.maxSuspects(),
        // line
        Column.ints(quotas, quota -> quota.lane().id()),
        Column.ints(quotas, quota -> quota.lane().tenant().value()),
        Column.texts(quotas, quota -> quota.lane().type()),
        Column.ints(quotas, Quota::tasks),
        Column.instants(quotas, Quota::from),
        // needs_full
        claimant.maxPlainLength());
  }

  /**
   * What a delivery needs of the tasks of a claim. A statement of its own, after the claim: its
   * snapshot is younger than the locks of the claim, so it sees every edit that the claim has
   * waited out. Reads PENDING tasks only: a task that has ended must not be delivered even if its
   * row in the queue was left behind.
   */
  private static final String CONTENT =
      """
      /* WorkQueue.content */
      SELECT t.*
      FROM carillon.claim c
      CROSS JOIN LATERAL (
          SELECT u.tenant, array_agg(u.task) AS tasks
          FROM unnest(c.tenants, c.tasks) AS u (tenant, task)
          GROUP BY u.tenant
      ) u
      CROSS JOIN LATERAL (
          SELECT t.tenant, t.id, t.due_at, t.key, t.payload, t.target, t.retry, t.schedule, t.fire_at
          FROM carillon.task_{partition} t
          WHERE t.tenant = u.tenant
            AND t.id = ANY (u.tasks)
            AND t.state = 'PENDING'
          OFFSET 0 -- not a join: it may search the primary key without the tenant
      ) t
      WHERE c.id = ?
      """;

  private static Tx.Query content(
      Partition partition, Claimant claimant, Map<TaskRef, Content> contents) {
    return Tx.Query.of(
        Sql.forPartition(CONTENT, partition),
        row -> contents.put(TaskRef.of(row), Content.of(row)),
        claimant.claim());
  }

  private static void addAll(Set<Integer> lanes, ResultSet row, String column) throws SQLException {
    if (row.getArray(column) != null) {
      lanes.addAll(List.of(Sql.integers(row, column)));
    }
  }

  private static void addTaken(List<Taken> taken, ResultSet row) throws SQLException {
    if (row.getObject("id") != null) {
      taken.add(Taken.of(row));
    }
  }

  private ClaimedTask claimed(Taken taken, Content content, Claimant claimant) {
    Lane lane = catalog.lane(taken.lane());
    TaskType type = catalog.type(lane);
    Target ownTarget = content.target();
    return new ClaimedTask(
        lane.tenant(),
        new TaskId(taken.task().id()),
        lane.id(),
        lane.type(),
        lane.priority(),
        content.key(),
        taken.attempt(),
        new Lease(taken.fence(), claimant.claim()),
        content.dueAt(),
        taken.readyAt(),
        taken.at(),
        claimant.lease() == null ? null : taken.at().plus(claimant.lease()),
        content.payload(),
        ownTarget == null ? type.target() : ownTarget,
        ownTarget == null,
        content.retry() == null ? type.retry() : content.retry(),
        type.timeout(),
        type.signingSecrets(),
        taken.crashes(),
        type.statuses(),
        content.schedule(),
        content.fireAt());
  }
}
