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
 * Walks over a tenant's tasks from the last partition to the first for one page. Filters are
 * answered by looking at each task, so a page ends early, with less than was asked for or nothing,
 * once it has looked at many or for long; the next one goes on where it ended.
 */
final class PartitionScan {

  /** How many tasks one page looks at. */
  private static final int REACH = 20_000;

  /** How many at a time, so that the time is seen. */
  private static final int CHUNK = 2_000;

  /** How long one page looks, which is when most of its tasks have to be read from disk. */
  private static final Duration PATIENCE = Duration.ofMillis(100);

  /** How many partitions one page looks at, for tenants with little in each. */
  private static final int MOST_PARTITIONS = 100;

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
   * @param nanos a clock that says how long something took
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

  // Nothing in a partition was ever due before it opens, and nothing was claimed there: whoever
  // wants a
  // task earlier opens its partition earlier.
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

  /** To run now is to be due a moment before the partition is opened. */
  private static final Duration MOMENT = Duration.ofSeconds(1);

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
        dueBefore == null ? null : dueBefore.plus(MOMENT),
        wasClaimed,
        MOST_PARTITIONS);
  }

  // The filter looks only at rows that the inner part has reached, and the last of those always
  // comes out, matching or not, to say how many they were and where to go on.
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

  /** A row that came out; the last one was the n-th that was looked at. */
  private record Reached(TaskView task, boolean matches, int n) {}

  private List<Reached> look(Partition partition, TaskId before, int reach, int limit) {
    return tx.query(
        Sql.forPartition(PAGE, partition),
        row -> new Reached(reader.view(row), row.getBoolean("matches"), row.getInt("n")),
        FilterSql.arguments(filter, withPayload, lanes, lanes, tenant, before, reach, limit));
  }

  /** Newest due first; {@code before} is the last id of the page before. */
  Page<TaskView, TaskId> page(int limit, @Nullable TaskId before) {
    List<Partition> partitions = partitions(before);
    TaskId place = before == null ? LAST_ID : before;
    long end = nanos.getAsLong() + PATIENCE.toNanos();
    int reach = REACH;
    for (Partition partition : partitions) {
      int chunk;
      int looked;
      do {
        chunk = Math.min(FilterSql.atOnce(filter, CHUNK), reach);
        List<Reached> reached = look(partition, place, chunk, limit - items.size() + 1);
        for (Reached row : reached) {
          if (row.matches() && items.size() == limit) {
            return new Page<>(items, items.getLast().id());
          }
          if (row.matches()) {
            items.add(row.task());
          }
        }
        looked = reached.isEmpty() ? 0 : reached.getLast().n();
        place = reached.isEmpty() ? place : reached.getLast().task().id();
        reach -= looked;
        if (looked == chunk && (reach == 0 || nanos.getAsLong() - end >= 0)) {
          return new Page<>(items, place);
        }
      } while (looked == chunk);
      TaskId next = before(partition);
      boolean isLast = partition.equals(partitions.getLast());
      // A page that began at the end of this partition would begin there again, and for ever.
      if (!isLast && !next.equals(before) && nanos.getAsLong() - end >= 0) {
        return new Page<>(items, next);
      }
    }
    boolean wasLast = partitions.size() < MOST_PARTITIONS;
    return new Page<>(items, wasLast ? null : before(partitions.getLast()));
  }

  /** The smallest id of a partition: everything before it lies in earlier partitions. */
  private static TaskId before(Partition partition) {
    long millis = partition.day().toEpochDay() * 86_400_000L;
    return new TaskId(new UUID(millis << 16 | 0x7000, 0x8000_0000_0000_0000L));
  }
}
