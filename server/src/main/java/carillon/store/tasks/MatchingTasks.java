package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TenantId;
import carillon.model.task.TaskState;
import carillon.store.catalog.Audit;
import carillon.store.catalog.AuditDetail;
import carillon.store.catalog.CatalogRows;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.DbClock;
import carillon.store.db.Sql;
import carillon.store.db.Transitions;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * All tasks that match a filter: how many they are, and all of them cancelled or made due at once.
 */
final class MatchingTasks {

  /** A count looks at no more rows than this, so that no filter makes it long. */
  private static final int COUNT_REACH = 100_000;

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
      SELECT count(*) AS looked_at, count(*) FILTER (WHERE %s) AS matched
      FROM f, (
          SELECT t.*
          FROM unnest(?::int[]) AS l (lane)
          CROSS JOIN LATERAL (
              SELECT t.state, t.schedule, t.due_at, t.error, t.output, t.metadata
              FROM carillon.task_{partition} t
              WHERE t.lane = l.lane
                AND t.ready_at > ?
          ) t
          LIMIT ?
      ) t
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES);

  // Few tasks have one key: written so that no index for the time is wanted.
  private static final String WAITS_WITH_KEY =
      """
      t.tenant = ?
                AND t.key = ?
                AND t.lane = ANY (?)
                AND t.ready_at - ?::timestamptz > interval '0'\
      """;

  private static final String COUNT_BY_KEY =
      """
      /* MatchingTasks.countByKey */
      WITH %s
      SELECT count(*) AS looked_at, count(*) FILTER (WHERE %s) AS matched
      FROM f, (
          SELECT t.state, t.schedule, t.due_at, t.error, t.output, t.metadata
          FROM carillon.task_{partition} t
          WHERE %s
          LIMIT ?
      ) t
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES, WAITS_WITH_KEY);

  // Running tasks are in no index; the claims know them.
  private static final String COUNT_RUNNING =
      """
      /* MatchingTasks.countRunning */
      WITH %s, held AS MATERIALIZED (
          SELECT h.tenant, h.id, c.id AS claim
          FROM carillon.claim c
          CROSS JOIN LATERAL unnest(c.tenants, c.tasks) AS h (tenant, id)
          WHERE c.partition = DATE '{day}'
            AND h.tenant = ?
          LIMIT ?
      )
      SELECT count(*) AS matched, (SELECT count(*) FROM held) AS looked_at
      FROM f, held
      CROSS JOIN LATERAL (
          SELECT t.*
          FROM carillon.task t
          WHERE t.tenant = held.tenant
            AND t.id = held.id
            AND t.partition = DATE '{day}'
            AND t.claim = held.claim
            AND NOT t.cancel_requested
          LIMIT 1
      ) t
      WHERE t.lane = ANY (?)
        AND (?::text IS NULL OR t.key = ?::text)
        AND %s
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES);

  /** What to look for among the waiting tasks: those that are ready only after a time. */
  private record Search(TenantId tenant, Column lanes, TaskFilter filter, Instant after) {

    int countReach() {
      return FilterSql.atOnce(filter, COUNT_REACH);
    }

    boolean isByKey() {
      return filter.key() != null;
    }

    @Nullable Object[] arguments(long limit) {
      return isByKey()
          ? FilterSql.arguments(filter, tenant, filter.key(), lanes, after, limit)
          : FilterSql.arguments(filter, lanes, after, limit);
    }
  }

  private Search search(Tx tx, TenantId tenant, TaskFilter filter, Instant after) {
    return new Search(tenant, CatalogRows.lanes(tx, tenant, filter.type()), filter, after);
  }

  /** How many a cancel would meet now: those that wait, and those that run and were not asked. */
  Tasks.Count countCancellable(Tx tx, TenantId tenant, TaskFilter filter) {
    Search search = search(tx, tenant, filter, Instant.EPOCH);
    Tasks.Count waiting =
        filter.state() == TaskState.RUNNING ? new Tasks.Count(0, false) : countWaiting(tx, search);
    Tasks.Count running =
        filter.state() == TaskState.PENDING ? new Tasks.Count(0, false) : countRunning(tx, search);
    return new Tasks.Count(
        waiting.matched() + running.matched(), waiting.isAtLeast() || running.isAtLeast());
  }

  /** How many {@link #run} would make due now, if it went on to the end. */
  Tasks.Count countRunnable(Tx tx, TenantId tenant, TaskFilter filter) {
    return countWaiting(tx, search(tx, tenant, filter, clock.instant()));
  }

  /** How many tasks were looked at, and how many of them match. */
  private record Looked(long at, long matched) {
    static Looked of(ResultSet row) throws SQLException {
      return new Looked(row.getLong("looked_at"), row.getLong("matched"));
    }

    /** Looks at one place after the other until this many tasks were read. */
    static <P> Looked upTo(long reach, List<P> places, BiFunction<P, Long, Looked> look) {
      Looked all = new Looked(0, 0);
      for (P place : places) {
        Looked some = look.apply(place, reach - all.at);
        all = new Looked(all.at + some.at, all.matched + some.matched);
        if (all.at >= reach) {
          break;
        }
      }
      return all;
    }

    Tasks.Count count(long reach) {
      return new Tasks.Count(matched, at >= reach);
    }
  }

  private static Tasks.Count countWaiting(Tx tx, Search search) {
    String statement = search.isByKey() ? COUNT_BY_KEY : COUNT_OF_LANES;
    return Looked.upTo(
            search.countReach(),
            Partitions.inGroups(tx),
            (partitions, reach) ->
                tx.readUnlocking(
                    () ->
                        Looked.upTo(
                            reach,
                            partitions,
                            (partition, left) ->
                                tx.query(
                                        Sql.forPartition(statement, partition),
                                        Looked::of,
                                        search.arguments(left))
                                    .getFirst())))
        .count(search.countReach());
  }

  private static Tasks.Count countRunning(Tx tx, Search search) {
    TaskFilter filter = search.filter();
    return Looked.upTo(
            search.countReach(),
            Partitions.claimed(tx),
            (partition, left) ->
                tx.query(
                        Sql.forPartition(COUNT_RUNNING, partition),
                        Looked::of,
                        FilterSql.arguments(
                            filter,
                            search.tenant(),
                            left,
                            search.lanes(),
                            filter.key(),
                            filter.key()))
                    .getFirst())
        .count(search.countReach());
  }

  private static final String LOOK_BY_KEY =
      """
      /* MatchingTasks.lookByKey */
      WITH %s
      SELECT t.id
      FROM f, carillon.task_{partition} t
      WHERE %s
        AND %s
      LIMIT ?
      """
          .formatted(FilterSql.CTE, WAITS_WITH_KEY, FilterSql.MATCHES);

  /** In the order in which they are locked. */
  private static Map<Partition, List<UUID>> withKey(
      Tx tx, Search search, List<Partition> partitions, int most) {
    Map<Partition, List<UUID>> found = new TreeMap<>();
    int left = most;
    for (Partition partition : partitions) {
      List<UUID> matching =
          tx
              .query(
                  Sql.forPartition(LOOK_BY_KEY, partition),
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

  /** Those with a key are few, so that all of them are looked at. */
  private static WaitingScan.Walked changeByKey(Tx tx, Search search, WaitingScan.Change change) {
    int changed = 0;
    for (List<Partition> partitions : Partitions.inGroups(tx)) {
      int most = Tasks.MOST_AT_ONCE - changed;
      Map<Partition, List<UUID>> found =
          tx.readUnlocking(() -> withKey(tx, search, partitions, most));
      for (Map.Entry<Partition, List<UUID>> some : found.entrySet()) {
        changed += change.apply(some.getKey(), some.getValue());
      }
    }
    return new WaitingScan.Walked(changed, null);
  }

  private WaitingScan.Walked change(
      Tx tx, Search search, BulkResult.@Nullable Place from, WaitingScan.Change change) {
    TaskFilter filter = search.filter();
    return search.isByKey()
        ? changeByKey(tx, search, change)
        : new WaitingScan(
                tx,
                CatalogRows.laneIds(tx, search.tenant(), filter.type()),
                filter,
                search.after(),
                bounds,
                System::nanoTime)
            .walk(from, change);
  }

  private static BulkResult result(WaitingScan.Walked walked, int requested) {
    boolean isMore = walked.next() != null || walked.changed() >= Tasks.MOST_AT_ONCE;
    return new BulkResult(walked.changed(), requested, isMore, walked.next());
  }

  // In the order in which they were found, which is that of every walk: no two wait for each other.
  private static final String HELD =
      """
      held AS MATERIALIZED (
          SELECT t.tenant, t.id
          FROM unnest(?::uuid[]) AS s (id)
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id
              FROM carillon.task_{partition} t
              WHERE t.tenant = ?
                AND t.id = s.id
                AND t.state = 'PENDING'
              FOR UPDATE -- waits for a claim in progress; the row then no longer matches
          ) t
      )\
      """;

  private static final String RUN =
      """
      /* MatchingTasks.run */
      WITH %s, run AS (
          UPDATE carillon.task_{partition} t
          SET ready_at = clock_timestamp(),
              due_at = least(t.due_at, clock_timestamp()),
              version = t.version + 1
          FROM held h
          WHERE t.tenant = h.tenant
            AND t.id = h.id
            AND t.state = 'PENDING'
          RETURNING t.lane, t.ready_at
      )
      SELECT lane, count(*) AS tasks, min(ready_at) AS first_ready_at
      FROM run
      GROUP BY lane
      """
          .formatted(HELD);

  private record Run(int lane, int tasks, Instant first) {}

  /**
   * Makes those due now that wait for a later time; what is due already would only go to the end of
   * its line.
   */
  BulkResult run(
      Tx tx, TenantId tenant, TaskFilter filter, BulkResult.@Nullable Place from, String who) {
    Search search = search(tx, tenant, filter, clock.instant());
    WaitingScan.Walked walked =
        change(tx, search, from, (partition, tasks) -> run(tx, tenant, partition, tasks));
    ObjectNode detail = JsonNodeFactory.instance.objectNode().put("run", walked.changed());
    detail.set("filter", TaskAuditDetail.of(filter));
    Audit.record(tx, tenant, who, "task.run", "matching", AuditDetail.bounded(detail));
    return result(walked, 0);
  }

  private int run(Tx tx, TenantId tenant, Partition partition, List<UUID> tasks) {
    List<Run> runs =
        tx.query(
            Sql.forPartition(RUN, partition),
            row ->
                new Run(
                    row.getInt("lane"),
                    row.getInt("tasks"),
                    Sql.requiredInstant(row, "first_ready_at")),
            Column.uuids(tasks, id -> id),
            tenant);
    runs.stream()
        .map(Run::first)
        .min(Instant::compareTo)
        .ifPresent(first -> Partitions.openEarlier(tx, partition, first));
    tx.afterCommit(() -> runs.forEach(run -> due.note(partition, run.lane(), run.first())));
    return runs.stream().mapToInt(Run::tasks).sum();
  }

  private static final String CANCEL =
      """
      /* MatchingTasks.cancel */
      WITH %s, cancelled AS (
          UPDATE carillon.task_{partition} t
          SET state = 'CANCELLED',
              ready_at = NULL,
              finished_at = clock_timestamp(),
              version = t.version + 1
          FROM held h
          WHERE t.tenant = h.tenant
            AND t.id = h.id
            AND t.state = 'PENDING'
          RETURNING t.tenant, t.id, t.partition, t.lane, t.attempt, t.fence
      ), trail AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who)
          SELECT tenant, id, partition, clock_timestamp(), 'PENDING', 'CANCELLED', fence, ?
          FROM cancelled
      )
      SELECT id, lane, attempt
      FROM cancelled
      """
          .formatted(HELD);

  private static final String REQUEST_CANCEL =
      """
      /* MatchingTasks.requestCancel */
      WITH %s
      UPDATE carillon.task t
      SET cancel_requested = true,
          version = t.version + 1
      FROM f, carillon.claim c
      CROSS JOIN LATERAL unnest(c.tenants, c.tasks) AS held (tenant, id)
      WHERE held.tenant = ?
        AND t.tenant = held.tenant
        AND t.id = held.id
        AND c.partition = DATE '{day}'
        AND t.partition = DATE '{day}'
        AND t.state = 'RUNNING'
        AND NOT t.cancel_requested
        AND t.lane = ANY (?)
        AND (?::text IS NULL OR t.key = ?::text)
        AND %s
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES);

  /**
   * Running tasks are asked before and after the waiting ones are cancelled: a task that changes
   * from one to the other meanwhile meets one of the three.
   */
  BulkResult cancel(
      Tx tx, TenantId tenant, TaskFilter filter, BulkResult.@Nullable Place from, String who) {
    boolean wantsWaiting = filter.state() == null || filter.state() == TaskState.PENDING;
    boolean wantsRunning = filter.state() == null || filter.state() == TaskState.RUNNING;
    Search search = search(tx, tenant, filter, Instant.EPOCH);
    int requested = wantsRunning ? requestCancel(tx, search) : 0;
    WaitingScan.Walked walked =
        wantsWaiting
            ? change(
                tx, search, from, (partition, tasks) -> cancel(tx, tenant, partition, tasks, who))
            : new WaitingScan.Walked(0, null);
    requested += wantsRunning ? requestCancel(tx, search) : 0;
    ObjectNode detail =
        JsonNodeFactory.instance
            .objectNode()
            .put("cancelled", walked.changed())
            .put("requested", requested);
    detail.set("filter", TaskAuditDetail.of(filter));
    Audit.record(tx, tenant, who, "task.cancel", "matching", AuditDetail.bounded(detail));
    return result(walked, requested);
  }

  private static int cancel(
      Tx tx, TenantId tenant, Partition partition, List<UUID> tasks, String who) {
    List<Transitions.Moved> moved =
        tx.query(
            Sql.forPartition(CANCEL, partition),
            row -> Sql.moved(row, TaskState.PENDING, TaskState.CANCELLED),
            Column.uuids(tasks, id -> id),
            tenant,
            who);
    tx.moved(moved);
    return moved.size();
  }

  private static int requestCancel(Tx tx, Search search) {
    TaskFilter filter = search.filter();
    int requested = 0;
    for (Partition partition : Partitions.claimed(tx)) {
      requested +=
          tx.update(
              Sql.forPartition(REQUEST_CANCEL, partition),
              FilterSql.arguments(
                  filter, search.tenant(), search.lanes(), filter.key(), filter.key()));
    }
    return requested;
  }
}
