package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.TaskState;
import carillon.store.catalog.CatalogRows;
import carillon.store.db.Column;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Scans a tenant's tasks from the last partition to the first to fill one page. It evaluates the
 * filter on every task, so a page ends early, with fewer items than the limit or none, once it has
 * examined many tasks or taken long. The next page continues where it ended.
 */
final class PartitionScan {

  /** How many tasks one page examines at most. */
  private static final int MAX_EXAMINED = 20_000;

  /** How many tasks one statement examines, so that the time is checked often enough. */
  private static final int CHUNK = 2_000;

  /** How long one page may take. It is reached when most tasks have to be read from disk. */
  private static final Duration TIMEOUT = Duration.ofMillis(100);

  /** How many partitions one page reads, for tenants with few tasks in each. */
  private static final int MAX_PARTITIONS = 100;

  static final TaskId LAST_ID = new TaskId(new UUID(-1L, -1L));

  private final Tx tx;
  private final TaskReader reader;
  private final TenantId tenant;
  private final TaskFilter filter;
  private final boolean withPayload;
  private final LongSupplier nanos;
  private final @Nullable Column lanes;
  private final List<TaskView> items = new ArrayList<>();

  /**
   * @param nanos the monotonic clock for the timeout
   */
  PartitionScan(
      Tx tx,
      TaskReader reader,
      TenantId tenant,
      TaskFilter filter,
      boolean withPayload,
      LongSupplier nanos) {
    this.tx = tx;
    this.reader = reader;
    this.tenant = tenant;
    this.filter = filter;
    this.withPayload = withPayload;
    this.nanos = nanos;
    this.lanes = filter.type() == null ? null : CatalogRows.lanes(tx, tenant, filter.type());
  }

  // No task in a partition is due or claimed before the partition opens: a change that makes a task
  // due earlier also moves opens_at.
  static final String PARTITIONS =
      """
      /* PartitionScan.partitions */
      SELECT day
      FROM carillon.partition
      WHERE day <= ?
        AND opens_at <= coalesce(?::timestamptz, 'infinity')
        AND (NOT ?::boolean OR opens_at <= clock_timestamp())
      ORDER BY day DESC
      LIMIT ?
      """;

  /** A task that is made due now is due shortly before the new opens_at of its partition. */
  private static final Duration OPENING_SLACK = Duration.ofSeconds(1);

  private List<Partition> partitions(@Nullable TaskId before) {
    Partition from = before == null ? new Partition(LocalDate.of(9999, 1, 1)) : before.partition();
    Instant dueBefore = filter.dueBefore();
    TaskState state = filter.state();
    boolean wasClaimed =
        state == TaskState.RUNNING || state == TaskState.COMPLETED || state == TaskState.DEAD;
    return tx.query(
        PARTITIONS,
        row -> new Partition(row.getObject("day", LocalDate.class)),
        from,
        dueBefore == null ? null : dueBefore.plus(OPENING_SLACK),
        wasClaimed,
        MAX_PARTITIONS);
  }

  private static final String IS_RUNNING =
      """
      (t.state = 'PENDING'
                              AND (SELECT true
                                   FROM carillon.queue_{partition} q
                                   WHERE q.lane = t.lane
                                     AND q.ready_at = t.ready_at
                                     AND q.id = t.id
                                   LIMIT 1) IS NULL)\
      """;

  // The filter is evaluated only on the rows of the inner query. The last of them is returned even
  // if it does not match, because it tells how many rows were examined and where to continue.
  //
  // The columns have the values of the view every_task, which would search the claims for each
  // running task. Here the queue is searched only if the filter depends on it, and the claims are
  // read once, if a task of the page is running.
  static final String PAGE =
      """
      /* PartitionScan.page */
      WITH %1$s, found AS MATERIALIZED (
          SELECT t.id, t.matches AND %2$s AS is_running, t.matches, t.n
          FROM (
              SELECT t.id, t.stored AS state, t.lane, t.ready_at,
                     row_number() OVER w AS n,
                     lead(t.id) OVER w IS NULL AS is_last,
                     (?::int[] IS NULL OR t.lane = ANY (?::int[])) AND %3$s AS matches
              FROM f
              CROSS JOIN LATERAL (
                  SELECT t.id, t.state AS stored, t.lane, t.ready_at, t.schedule, t.due_at, t.metadata,
                         CASE WHEN f.state IN ('PENDING', 'RUNNING') AND %2$s THEN 'RUNNING' ELSE t.state END AS state,
                         CASE WHEN t.error IS NOT NULL AND NOT %2$s THEN t.error END AS error,
                         CASE WHEN t.output IS NOT NULL AND NOT %2$s THEN t.output END AS output
                  FROM (
                      SELECT *
                      FROM carillon.task_{partition}
                      WHERE tenant = ?
                        AND id < ?
                      ORDER BY id DESC
                      LIMIT ?
                  ) t
              ) t
              WINDOW w AS (ORDER BY t.id DESC)
          ) t
          WHERE t.matches OR t.is_last
          ORDER BY t.id DESC
          LIMIT ?
      ), held AS MATERIALIZED (
          SELECT h.id AS task, h.fence, c.id, c.leased_by, c.started_at, c.lease_until
          FROM carillon.claim c
          CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
          WHERE EXISTS (SELECT FROM found WHERE is_running)
            AND c.partition = DATE '{day}'
            AND h.tenant = ?
            AND h.id >= (SELECT id FROM found WHERE is_running ORDER BY id LIMIT 1)
            AND h.id <= (SELECT id FROM found WHERE is_running ORDER BY id DESC LIMIT 1)
      )
      SELECT %4$s, CASE WHEN ?::boolean THEN t.payload END AS payload, found.matches, found.n
      FROM found
      CROSS JOIN LATERAL (
          SELECT %5$s
          FROM carillon.task_{partition} t
          LEFT JOIN held c ON found.is_running AND c.task = found.id AND c.fence = t.fence + 1
          WHERE t.tenant = ?
            AND t.id = found.id
          LIMIT 1
      ) t
      ORDER BY found.n
      """
          .formatted(
              FilterSql.CTE,
              IS_RUNNING,
              FilterSql.MATCHES,
              TaskReader.COLUMNS,
              TaskReader.COLUMNS_IN_CLAIM);

  /** A returned row, and its number among the rows examined. */
  private record Examined(TaskView task, boolean matches, int n) {}

  private List<Examined> examine(Partition partition, TaskId before, int rows, int limit) {
    return tx.query(
        Sql.forPartition(PAGE, partition),
        row -> new Examined(reader.view(row), row.getBoolean("matches"), row.getInt("n")),
        FilterSql.arguments(
            filter, lanes, lanes, tenant, before, rows, limit, tenant, withPayload, tenant));
  }

  /** Latest due time first; {@code before} is the last id of the previous page. */
  Page<TaskView, TaskId> page(int limit, @Nullable TaskId before) {
    List<Partition> partitions = partitions(before);
    TaskId position = before == null ? LAST_ID : before;
    long end = nanos.getAsLong() + TIMEOUT.toNanos();
    int left = MAX_EXAMINED;
    for (Partition partition : partitions) {
      int chunk;
      int count;
      do {
        chunk = Math.min(FilterSql.limit(filter, CHUNK), left);
        List<Examined> examined = examine(partition, position, chunk, limit - items.size() + 1);
        for (Examined row : examined) {
          if (row.matches() && items.size() == limit) {
            return new Page<>(items, items.getLast().id());
          }
          if (row.matches()) {
            items.add(row.task());
          }
        }
        count = examined.isEmpty() ? 0 : examined.getLast().n();
        position = examined.isEmpty() ? position : examined.getLast().task().id();
        left -= count;
        if (count == chunk && (left == 0 || nanos.getAsLong() - end >= 0)) {
          return new Page<>(items, position);
        }
      } while (count == chunk);
      TaskId next = before(partition);
      boolean isLast = partition.equals(partitions.getLast());
      // If the page started at this position, the next one would too, and so on forever.
      if (!isLast && !next.equals(before) && nanos.getAsLong() - end >= 0) {
        return new Page<>(items, next);
      }
    }
    boolean wasLast = partitions.size() < MAX_PARTITIONS;
    return new Page<>(items, wasLast ? null : before(partitions.getLast()));
  }

  /** The smallest id of a partition: all lower ids are in earlier partitions. */
  private static TaskId before(Partition partition) {
    long millis = partition.day().toEpochDay() * 86_400_000L;
    return new TaskId(new UUID(millis << 16 | 0x7000, 0x8000_0000_0000_0000L));
  }
}
