package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.TaskState;
import carillon.store.catalog.Audit;
import carillon.store.catalog.AuditDetail;
import carillon.store.catalog.CatalogRows;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.DbClock;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Counts the tasks that match a filter, cancels them or makes them due. */
final class MatchingTasks {

  /** A count examines no more rows than this, so that no filter makes it slow. */
  private static final int MAX_COUNT_ROWS = 100_000;

  private final DbClock clock;
  private final DueListener due;
  private final WaitingScan.Bounds bounds;

  MatchingTasks(DbClock clock, DueListener due) {
    this(clock, due, WaitingScan.Bounds.USUAL);
  }

  MatchingTasks(DbClock clock, DueListener due, WaitingScan.Bounds bounds) {
    this.clock = clock;
    this.due = due;
    this.bounds = bounds;
  }

  private static final String COUNT_OF_LANES =
      """
      /* MatchingTasks.countOfLanes */
      WITH %s
      SELECT count(*) AS examined, count(*) FILTER (WHERE %s) AS matched
      FROM f, (
          SELECT q.id
          FROM unnest(?::int[]) AS l (lane)
          CROSS JOIN LATERAL (
              SELECT q.id
              FROM carillon.queue_{partition} q
              WHERE q.lane = l.lane
                AND q.ready_at > ?
              OFFSET 0 -- not a join: with old statistics, it may read the queue once per lane
          ) q
          LIMIT ?
      ) q
      CROSS JOIN LATERAL (
          SELECT %s
          FROM carillon.task_{partition} t
          WHERE t.tenant = ?
            AND t.id = q.id
          LIMIT 1
      ) t
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES, FilterSql.COLUMNS);

  // Few tasks share a key. The LIMIT keeps the planner from reading the queue first.
  private static final String WAITING_WITH_KEY =
      """
      carillon.task_{partition} t
          CROSS JOIN LATERAL (
              SELECT
              FROM carillon.queue_{partition} q
              WHERE q.lane = t.lane
                AND q.ready_at = t.ready_at
                AND q.ready_at > ?
                AND q.id = t.id
              LIMIT 1
          ) q
          WHERE t.tenant = ?
            AND t.key = ?
            AND t.lane = ANY (?)
            AND t.state = 'PENDING'\
      """;

  private static final String COUNT_BY_KEY =
      """
      /* MatchingTasks.countByKey */
      WITH %s
      SELECT count(*) AS examined, count(*) FILTER (WHERE %s) AS matched
      FROM f, (
          SELECT %s
          FROM %s
          LIMIT ?
      ) t
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES, FilterSql.COLUMNS, WAITING_WITH_KEY);

  // No index contains running tasks, but the claims list them. A claim still lists tasks that have
  // ended: then the fence of the task is not below the claim's.
  private static final String RUNNING =
      """
      held AS MATERIALIZED (
          SELECT h.tenant, h.id, h.fence
          FROM carillon.claim c
          CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
          WHERE c.partition = DATE '{day}'
            AND h.tenant = ?
          LIMIT ?
      ), running AS MATERIALIZED (
          SELECT t.tenant, t.id, t.fence
          FROM f, held
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id, t.fence, t.lane, t.key, %s
              FROM carillon.task t
              WHERE t.tenant = held.tenant
                AND t.id = held.id
                AND t.partition = DATE '{day}'
                AND t.state = 'PENDING'
                AND t.fence = held.fence - 1
                AND NOT t.cancel_requested
              LIMIT 1
          ) t
          WHERE t.lane = ANY (?)
            AND (?::text IS NULL OR t.key = ?::text)
            AND %s
      )\
      """
          .formatted(FilterSql.COLUMNS_IF_RUNNING, FilterSql.MATCHES);

  private static final String COUNT_RUNNING =
      """
      /* MatchingTasks.countRunning */
      WITH %s, %s
      SELECT (SELECT count(*) FROM running) AS matched, (SELECT count(*) FROM held) AS examined
      """
          .formatted(FilterSql.CTE, RUNNING);

  /**
   * A search for waiting tasks.
   *
   * @param after finds only tasks that become ready after this
   */
  private record Search(TenantId tenant, Column lanes, TaskFilter filter, Instant after) {

    int maxCountRows() {
      return FilterSql.limit(filter, MAX_COUNT_ROWS);
    }

    boolean isByKey() {
      return filter.key() != null;
    }

    @Nullable Object[] arguments(long limit) {
      return isByKey()
          ? FilterSql.arguments(filter, after, tenant, filter.key(), lanes, limit)
          : FilterSql.arguments(filter, lanes, after, limit, tenant);
    }

    /**
     * The arguments of a statement with {@link #RUNNING}, and others.
     *
     * @param limit how many tasks of claims are examined; null: all
     */
    @Nullable Object[] argumentsOfRunning(@Nullable Long limit) {
      return FilterSql.arguments(filter, tenant, limit, lanes, filter.key(), filter.key());
    }
  }

  private Search search(Tx tx, TenantId tenant, TaskFilter filter, Instant after) {
    return new Search(tenant, CatalogRows.lanes(tx, tenant, filter.type()), filter, after);
  }

  /**
   * How many tasks a cancel would affect: waiting ones, and running ones whose cancellation was not
   * requested yet.
   */
  Tasks.Count countCancellable(Tx tx, TenantId tenant, TaskFilter filter) {
    Search search = search(tx, tenant, filter, Instant.EPOCH);
    Tasks.Count waiting =
        filter.state() == TaskState.RUNNING ? new Tasks.Count(0, false) : countWaiting(tx, search);
    Tasks.Count running =
        filter.state() == TaskState.PENDING ? new Tasks.Count(0, false) : countRunning(tx, search);
    return new Tasks.Count(
        waiting.matched() + running.matched(), waiting.isAtLeast() || running.isAtLeast());
  }

  /** How many tasks {@link #run} would make due if it ran to the end. */
  Tasks.Count countRunnable(Tx tx, TenantId tenant, TaskFilter filter) {
    return countWaiting(tx, search(tx, tenant, filter, clock.instant()));
  }

  /** How many tasks were examined, and how many of them match. */
  private record Tally(long examined, long matched) {
    static Tally of(ResultSet row) throws SQLException {
      return new Tally(row.getLong("examined"), row.getLong("matched"));
    }

    /** Adds up the tallies of all parts, and stops once this many tasks were examined. */
    static <P> Tally upTo(long limit, List<P> parts, BiFunction<P, Long, Tally> count) {
      Tally sum = new Tally(0, 0);
      for (P part : parts) {
        Tally next = count.apply(part, limit - sum.examined);
        sum = new Tally(sum.examined + next.examined, sum.matched + next.matched);
        if (sum.examined >= limit) {
          break;
        }
      }
      return sum;
    }

    Tasks.Count count(long limit) {
      return new Tasks.Count(matched, examined >= limit);
    }
  }

  private static Tasks.Count countWaiting(Tx tx, Search search) {
    String statement = search.isByKey() ? COUNT_BY_KEY : COUNT_OF_LANES;
    return Tally.upTo(
            search.maxCountRows(),
            Partitions.inGroups(tx),
            (partitions, limit) ->
                tx.readUnlocking(
                    () ->
                        Tally.upTo(
                            limit,
                            partitions,
                            (partition, left) ->
                                tx.query(
                                        Sql.forPartition(statement, partition),
                                        Tally::of,
                                        search.arguments(left))
                                    .getFirst())))
        .count(search.maxCountRows());
  }

  private static Tasks.Count countRunning(Tx tx, Search search) {
    return Tally.upTo(
            search.maxCountRows(),
            Partitions.claimed(tx),
            (partition, left) ->
                tx.query(
                        Sql.forPartition(COUNT_RUNNING, partition),
                        Tally::of,
                        search.argumentsOfRunning(left))
                    .getFirst())
        .count(search.maxCountRows());
  }

  private static final String FIND_BY_KEY =
      """
      /* MatchingTasks.findByKey */
      WITH %s
      SELECT t.id
      FROM f, (
          SELECT t.id, %s
          FROM %s
      ) t
      WHERE %s
      LIMIT ?
      """
          .formatted(FilterSql.CTE, FilterSql.COLUMNS, WAITING_WITH_KEY, FilterSql.MATCHES);

  /** Finds matching tasks by key and returns them in the order in which they are locked. */
  private static Map<Partition, List<UUID>> findByKey(
      Tx tx, Search search, List<Partition> partitions, int max) {
    Map<Partition, List<UUID>> found = new TreeMap<>();
    int left = max;
    for (Partition partition : partitions) {
      List<UUID> matching =
          tx
              .query(
                  Sql.forPartition(FIND_BY_KEY, partition),
                  row -> Sql.uuid(row, "id"),
                  search.arguments(left))
              .stream()
              .sorted()
              .toList();
      left -= matching.size();
      if (!matching.isEmpty()) {
        found.put(partition, matching);
      }
    }
    return found;
  }

  /** Changes all of them in one call, because few tasks share a key. */
  private static WaitingScan.Result changeByKey(Tx tx, Search search, WaitingScan.Change change) {
    int changed = 0;
    for (List<Partition> partitions : Partitions.inGroups(tx)) {
      int max = Tasks.MAX_AT_ONCE - changed;
      Map<Partition, List<UUID>> found =
          tx.readUnlocking(() -> findByKey(tx, search, partitions, max));
      for (Map.Entry<Partition, List<UUID>> entry : found.entrySet()) {
        changed += change.apply(entry.getKey(), entry.getValue());
      }
    }
    return new WaitingScan.Result(changed, null);
  }

  private WaitingScan.Result change(
      Tx tx, Search search, BulkResult.@Nullable Place from, WaitingScan.Change change) {
    TaskFilter filter = search.filter();
    return search.isByKey()
        ? changeByKey(tx, search, change)
        : new WaitingScan(
                tx,
                search.tenant(),
                CatalogRows.laneIds(tx, search.tenant(), filter.type()),
                filter,
                search.after(),
                bounds,
                System::nanoTime)
            .run(from, change);
  }

  private static BulkResult result(WaitingScan.Result scanned, int requested) {
    boolean hasMore = scanned.next() != null || scanned.changed() >= Tasks.MAX_AT_ONCE;
    return new BulkResult(scanned.changed(), requested, hasMore, scanned.next());
  }

  // Locks in the order in which the tasks were found. It is the same in every scan, so that two
  // bulk changes do not deadlock.
  private static final String LOCKED =
      """
      locked AS MATERIALIZED (
          SELECT t.*
          FROM unnest(?::uuid[]) AS s (id)
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id, t.lane, t.ready_at
              FROM carillon.task_{partition} t
              WHERE t.tenant = ?
                AND t.id = s.id
                AND t.state = 'PENDING'
              FOR UPDATE
          ) t
      )\
      """;

  // The change is a statement of its own, after this one: it sees the rows of the queue as they
  // were left by the transactions that this one has waited for. It waits for a claim in progress,
  // which leaves no row.
  private static final String LOCK =
      """
      /* MatchingTasks.lock */
      WITH %s
      SELECT count(*) AS tasks
      FROM locked
      """
          .formatted(LOCKED);

  // The rows of these tasks in the queue, found one by one by the index, which ends with the id:
  // thousands of tasks may be ready at one instant. With old statistics, a join may read the whole
  // queue first.
  private static final String QUEUED =
      """
      queued AS MATERIALIZED (
          SELECT l.tenant, q.row_id
          FROM locked l
          CROSS JOIN LATERAL (
              SELECT q.ctid AS row_id
              FROM carillon.queue_{partition} q
              WHERE q.lane = l.lane
                AND q.ready_at = l.ready_at
                AND q.id = l.id
              FOR UPDATE -- waits for a claim in progress, which leaves no row
          ) q
      )\
      """;

  private static Tx.Query lock(TenantId tenant, Partition partition, Column tasks) {
    return Tx.Query.of(Sql.forPartition(LOCK, partition), _ -> {}, tasks, tenant);
  }

  private static final String RUN =
      """
      /* MatchingTasks.run */
      WITH %s, %s, moved AS (
          UPDATE carillon.queue_{partition} q
          SET ready_at = clock_timestamp()
          FROM queued
          WHERE q.ctid = queued.row_id
          RETURNING queued.tenant, q.id, q.ready_at
      ), run AS (
          UPDATE carillon.task_{partition} t
          SET ready_at = m.ready_at,
              due_at = least(t.due_at, m.ready_at),
              version = t.version + 1
          FROM moved m
          WHERE t.tenant = m.tenant
            AND t.id = m.id
            AND t.state = 'PENDING'
          RETURNING t.lane, t.ready_at
      )
      SELECT lane, count(*) AS tasks, min(ready_at) AS first_ready_at
      FROM run
      GROUP BY lane
      """
          .formatted(LOCKED, QUEUED);

  private record Run(int lane, int tasks, Instant first) {}

  /**
   * Makes waiting tasks due now. Tasks that are already due are left alone: they would only move to
   * the end of their queue.
   */
  BulkResult run(
      Tx tx, TenantId tenant, TaskFilter filter, BulkResult.@Nullable Place from, String who) {
    Search search = search(tx, tenant, filter, clock.instant());
    WaitingScan.Result scanned =
        change(tx, search, from, (partition, tasks) -> run(tx, tenant, partition, tasks));
    ObjectNode detail = JsonNodeFactory.instance.objectNode().put("run", scanned.changed());
    detail.set("filter", TaskAuditDetail.of(filter));
    Audit.record(tx, tenant, who, "task.run", "matching", AuditDetail.bounded(detail));
    return result(scanned, 0);
  }

  private int run(Tx tx, TenantId tenant, Partition partition, List<UUID> tasks) {
    Column ids = Column.uuids(tasks, id -> id);
    List<Run> runs = new ArrayList<>();
    tx.queryTogether(
        lock(tenant, partition, ids),
        Tx.Query.of(
            Sql.forPartition(RUN, partition),
            row ->
                runs.add(
                    new Run(
                        row.getInt("lane"),
                        row.getInt("tasks"),
                        Sql.requiredInstant(row, "first_ready_at"))),
            ids,
            tenant));
    runs.stream()
        .map(Run::first)
        .min(Instant::compareTo)
        .ifPresent(first -> Partitions.openEarlier(tx, partition, first));
    tx.afterCommit(() -> runs.forEach(run -> due.onReady(partition, run.lane(), run.first())));
    return runs.stream().mapToInt(Run::tasks).sum();
  }

  private static final String REQUEST_CANCEL =
      """
      /* MatchingTasks.requestCancel */
      WITH %s, %s
      UPDATE carillon.task t
      SET cancel_requested = true,
          version = t.version + 1
      FROM running r
      WHERE t.tenant = r.tenant
        AND t.id = r.id
        AND t.partition = DATE '{day}'
        AND t.state = 'PENDING'
        AND t.fence = r.fence -- the attempt has not ended meanwhile
        AND NOT t.cancel_requested
      """
          .formatted(FilterSql.CTE, RUNNING);

  /**
   * Requests the cancel of running tasks both before and after it cancels the waiting ones: a task
   * that is claimed in between, or released, is caught by one of the three statements. One that is
   * claimed and released again may be missed, and is not counted.
   */
  BulkResult cancel(
      Tx tx, TenantId tenant, TaskFilter filter, BulkResult.@Nullable Place from, String who) {
    boolean wantsWaiting = filter.state() == null || filter.state() == TaskState.PENDING;
    boolean wantsRunning = filter.state() == null || filter.state() == TaskState.RUNNING;
    Search search = search(tx, tenant, filter, Instant.EPOCH);
    int requested = wantsRunning ? requestCancel(tx, search) : 0;
    WaitingScan.Result scanned =
        wantsWaiting
            ? change(
                tx, search, from, (partition, tasks) -> cancel(tx, tenant, partition, tasks, who))
            : new WaitingScan.Result(0, null);
    requested += wantsRunning ? requestCancel(tx, search) : 0;
    ObjectNode detail =
        JsonNodeFactory.instance
            .objectNode()
            .put("cancelled", scanned.changed())
            .put("requested", requested);
    detail.set("filter", TaskAuditDetail.of(filter));
    Audit.record(tx, tenant, who, "task.cancel", "matching", AuditDetail.bounded(detail));
    return result(scanned, requested);
  }

  private static int cancel(
      Tx tx, TenantId tenant, Partition partition, List<UUID> tasks, String who) {
    List<TaskCancels.Task> found =
        tasks.stream().map(id -> new TaskCancels.Task(tenant, new TaskId(id))).toList();
    return TaskCancels.cancelWaiting(tx, partition, found, new TaskCancels.Because(who, null))
        .size();
  }

  private static int requestCancel(Tx tx, Search search) {
    int requested = 0;
    for (Partition partition : Partitions.claimed(tx)) {
      requested +=
          tx.update(Sql.forPartition(REQUEST_CANCEL, partition), search.argumentsOfRunning(null));
    }
    return requested;
  }
}
