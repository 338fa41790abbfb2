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

  // The filter is evaluated only on the rows of the inner query. The last of them is returned even
  // if it does not match, because it tells how many rows were examined and where to continue.
  static final String PAGE =
      """
      /* PartitionScan.page */
      WITH %s
      SELECT %s, CASE WHEN ?::boolean THEN t.payload END AS payload, t.matches, t.n
      FROM (
          SELECT t.*,
                 row_number() OVER w AS n,
                 lead(t.id) OVER w IS NULL AS is_last,
                 (?::int[] IS NULL OR t.lane = ANY (?::int[])) AND %s AS matches
          FROM f, (
              SELECT *
              FROM carillon.task_{partition}
              WHERE tenant = ?
                AND id < ?
              ORDER BY id DESC
              LIMIT ?
          ) t
          WINDOW w AS (ORDER BY t.id DESC)
      ) t
      WHERE t.matches OR t.is_last
      ORDER BY t.id DESC
      LIMIT ?
      """
          .formatted(FilterSql.CTE, TaskReader.COLUMNS, FilterSql.MATCHES);

  /** A returned row, and its number among the rows examined. */
  private record Examined(TaskView task, boolean matches, int n) {}

  private List<Examined> examine(Partition partition, TaskId before, int rows, int limit) {
    return tx.query(
        Sql.forPartition(PAGE, partition),
        row -> new Examined(reader.view(row), row.getBoolean("matches"), row.getInt("n")),
        FilterSql.arguments(filter, withPayload, lanes, lanes, tenant, before, rows, limit));
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
