package carillon.store;

import carillon.model.Slot;
import carillon.model.TaskState;
import carillon.model.TenantId;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** All waiting tasks that match a filter: how many they are, and all of them made due at once. */
final class MatchingTasks {

  /** A count looks at no more rows than this, so that no filter makes it long. */
  private static final int COUNT_REACH = 100_000;

  private final TaskReader reader;
  private final DbClock clock;
  private final Agenda agenda;

  MatchingTasks(TaskReader reader, DbClock clock, Agenda agenda) {
    this.reader = reader;
    this.clock = clock;
    this.agenda = agenda;
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
              SELECT t.state, t.schedule, t.due_at, t.error, t.metadata
              FROM carillon.task_{slot} t
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
          SELECT t.state, t.schedule, t.due_at, t.error, t.metadata
          FROM carillon.task_{slot} t
          WHERE %s
          LIMIT ?
      ) t
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES, WAITS_WITH_KEY);

  // Running tasks are in no index; the claims know them.
  private static final String COUNT_RUNNING =
      """
      /* MatchingTasks.countRunning */
      WITH %s
      SELECT count(*) AS matched
      FROM f, carillon.claim c
      CROSS JOIN LATERAL unnest(c.tenants, c.tasks) AS held (tenant, id)
      CROSS JOIN LATERAL (
          SELECT t.*
          FROM carillon.task t
          WHERE t.tenant = held.tenant
            AND t.id = held.id
            AND t.slot = c.slot
            AND t.claim = c.id
            AND NOT t.cancel_requested
          LIMIT 1
      ) t
      WHERE held.tenant = ?
        AND t.lane = ANY (?)
        AND (?::text IS NULL OR t.key = ?::text)
        AND %s
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES);

  private static final String ALL_SLOTS =
      """
      /* MatchingTasks.slots */
      SELECT day
      FROM carillon.slot
      ORDER BY day
      """;

  /** What to look for among the waiting tasks: those that are ready only after a time. */
  private record Search(TenantId tenant, Column lanes, TaskFilter filter, Instant after) {

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
    return new Search(tenant, reader.lanes(tx, tenant, filter.type()), filter, after);
  }

  /** How many a cancel would meet now: those that wait, and those that run and were not asked. */
  Tasks.Count countCancellable(Tx tx, TenantId tenant, TaskFilter filter) {
    Search search = search(tx, tenant, filter, Instant.EPOCH);
    Tasks.Count waiting =
        filter.state() == TaskState.RUNNING ? new Tasks.Count(0, false) : countWaiting(tx, search);
    long running = filter.state() == TaskState.PENDING ? 0 : countRunning(tx, search);
    return new Tasks.Count(waiting.matched() + running, waiting.isAtLeast());
  }

  /** How many {@link #run} would make due now, if it went on to the end. */
  Tasks.Count countRunnable(Tx tx, TenantId tenant, TaskFilter filter) {
    return countWaiting(tx, search(tx, tenant, filter, clock.instant()));
  }

  private record Looked(long at, long matched) {}

  private static Tasks.Count countWaiting(Tx tx, Search search) {
    String statement = search.isByKey() ? COUNT_BY_KEY : COUNT_OF_LANES;
    long matched = 0;
    long reach = COUNT_REACH;
    for (Slot slot : slots(tx)) {
      Looked looked =
          tx.query(
                  Sql.forSlot(statement, slot),
                  row -> new Looked(row.getLong("looked_at"), row.getLong("matched")),
                  search.arguments(reach))
              .getFirst();
      matched += looked.matched();
      reach -= looked.at();
      if (reach <= 0) {
        return new Tasks.Count(matched, true);
      }
    }
    return new Tasks.Count(matched, false);
  }

  private static long countRunning(Tx tx, Search search) {
    TaskFilter filter = search.filter();
    return tx.query(
            COUNT_RUNNING,
            row -> row.getLong("matched"),
            FilterSql.arguments(
                filter, search.tenant(), search.lanes(), filter.key(), filter.key()))
        .getFirst();
  }

  private static List<Slot> slots(Tx tx) {
    return tx.query(ALL_SLOTS, row -> new Slot(row.getObject("day", LocalDate.class)));
  }

  private static final String RUN =
      """
      , sorted AS MATERIALIZED (
          SELECT tenant, id
          FROM matching
          ORDER BY id -- rows are locked in this order, as a cancel does
      ), held AS MATERIALIZED (
          SELECT t.*
          FROM sorted s
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id
              FROM carillon.task_{slot} t
              WHERE t.tenant = s.tenant
                AND t.id = s.id
                AND t.state = 'PENDING'
              FOR UPDATE -- waits for a claim in progress; the row then no longer matches
          ) t
      ), run AS (
          UPDATE carillon.task_{slot} t
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
      """;

  private static final String RUN_OF_LANES =
      """
      /* MatchingTasks.runOfLanes */
      WITH %s, matching AS MATERIALIZED (
          SELECT t.tenant, t.id
          FROM f, unnest(?::int[]) AS l (lane)
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id, t.state, t.schedule, t.due_at, t.error, t.metadata
              FROM carillon.task_{slot} t
              WHERE t.lane = l.lane
                AND t.ready_at > ? -- what is due already would only go to the end of its line
          ) t
          WHERE %s
          LIMIT ?
      )
      """
              .formatted(FilterSql.CTE, FilterSql.MATCHES)
          + RUN;

  private static final String RUN_BY_KEY =
      """
      /* MatchingTasks.runByKey */
      WITH %s, matching AS MATERIALIZED (
          SELECT t.tenant, t.id
          FROM f, carillon.task_{slot} t
          WHERE %s
            AND %s
          LIMIT ?
      )
      """
              .formatted(FilterSql.CTE, WAITS_WITH_KEY, FilterSql.MATCHES)
          + RUN;

  private record Run(int lane, int tasks, Instant first) {}

  /** Makes those due now that wait for a later time; at most so many in one go. */
  int run(Tx tx, TenantId tenant, TaskFilter filter, String who) {
    Search search = search(tx, tenant, filter, clock.instant());
    int all = 0;
    for (Slot slot : slots(tx)) {
      all += run(tx, slot, search, TaskChanges.MOST_AT_ONCE - all);
      if (all >= TaskChanges.MOST_AT_ONCE) {
        break;
      }
    }
    Audit.record(tx, tenant, who, "task.run", "matching", "{\"run\": " + all + "}");
    return all;
  }

  private int run(Tx tx, Slot slot, Search search, int limit) {
    List<Run> runs =
        tx.query(
            Sql.forSlot(search.isByKey() ? RUN_BY_KEY : RUN_OF_LANES, slot),
            row ->
                new Run(
                    row.getInt("lane"),
                    row.getInt("tasks"),
                    Sql.requiredInstant(row, "first_ready_at")),
            search.arguments(limit));
    runs.stream()
        .map(Run::first)
        .min(Instant::compareTo)
        .ifPresent(first -> Slots.openEarlier(tx, slot, first));
    tx.afterCommit(() -> runs.forEach(run -> agenda.note(slot, run.lane(), run.first())));
    return runs.stream().mapToInt(Run::tasks).sum();
  }
}
