package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Scans the waiting tasks of some lanes, partition by partition, and changes those that match a
 * filter. It evaluates the filter on every task, so a scan ends early once it has examined many
 * tasks, changed many or taken long. The next scan continues where it ended.
 */
final class WaitingScan {

  /**
   * The bounds of one scan.
   *
   * @param chunk how many tasks one statement examines or changes; fewer for a text search
   * @param maxExamined how many tasks are examined
   */
  record Bounds(int chunk, int maxExamined, Duration timeout) {
    static final Bounds USUAL = new Bounds(5_000, 200_000, Duration.ofSeconds(2));
  }

  /** A change of matching tasks. */
  interface Change {
    /** Changes these tasks unless their state forbids it by now, and returns how many. */
    int apply(Partition partition, List<UUID> tasks);
  }

  /**
   * The result of one scan.
   *
   * @param changed how many tasks were changed
   * @param next where to continue; null at the end
   */
  record Result(int changed, BulkResult.@Nullable Place next) {}

  private final Tx tx;
  private final TenantId tenant;
  private final List<Integer> lanes;
  private final TaskFilter filter;
  private final Instant after;
  private final LongSupplier nanos;

  private final long end;
  private final int usualChunk;
  private int left;
  private int changed;

  /**
   * @param lanes of the tenant, in ascending order
   * @param after only tasks that become ready after this are examined
   */
  WaitingScan(
      Tx tx,
      TenantId tenant,
      List<Integer> lanes,
      TaskFilter filter,
      Instant after,
      Bounds bounds,
      LongSupplier nanos) {
    this.tx = tx;
    this.tenant = tenant;
    this.lanes = lanes;
    this.filter = filter;
    this.after = after;
    this.nanos = nanos;
    this.end = nanos.getAsLong() + bounds.timeout().toNanos();
    this.usualChunk = FilterSql.limit(filter, bounds.chunk());
    this.left = bounds.maxExamined();
  }

  // The last row is returned even if it does not match, because it tells where to continue. The
  // next statement starts at the same instant, not after it: more tasks may be ready at that
  // instant.
  static final String EXAMINE =
      """
      /* WaitingScan.examine */
      WITH %s
      SELECT t.id, t.lane, t.ready_at, t.matches, t.n
      FROM (
          SELECT q.id, q.lane, q.ready_at, %s AS matches,
                 row_number() OVER w AS n,
                 lead(q.id) OVER w IS NULL AS is_last
          FROM f, (
              SELECT q.*
              FROM unnest(?::int[]) AS l (lane)
              CROSS JOIN LATERAL (
                  SELECT q.id, q.lane, q.ready_at
                  FROM carillon.queue_{partition} q
                  WHERE q.lane = l.lane
                    AND q.ready_at > CASE l.lane WHEN ? THEN ?::timestamptz ELSE ?::timestamptz END
                  ORDER BY q.ready_at
                  LIMIT ?
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
          WINDOW w AS (ORDER BY q.lane, q.ready_at, q.id)
      ) t
      WHERE t.matches OR t.is_last
      ORDER BY t.n
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES, FilterSql.COLUMNS);

  /** A returned row, and its number among the rows examined. */
  private record Examined(TaskId id, int lane, Instant readyAt, boolean matches, int n) {}

  private List<Examined> examine(BulkResult.Place from, int limit) {
    List<Integer> lanesLeft = lanes.stream().filter(lane -> lane >= from.lane()).toList();
    Instant before = from.readyAt().minusNanos(1_000); // timestamptz has microseconds
    return tx.readUnlocking(
        () ->
            tx.query(
                Sql.forPartition(EXAMINE, from.partition()),
                WaitingScan::examined,
                FilterSql.arguments(
                    filter,
                    Column.ints(lanesLeft, lane -> lane),
                    from.lane(),
                    before.isAfter(after) ? before : after,
                    after,
                    limit,
                    limit,
                    tenant)));
  }

  private static Examined examined(ResultSet row) throws SQLException {
    return new Examined(
        new TaskId(Sql.uuid(row, "id")),
        row.getInt("lane"),
        Sql.requiredInstant(row, "ready_at"),
        row.getBoolean("matches"),
        row.getInt("n"));
  }

  Result run(BulkResult.@Nullable Place from, Change change) {
    boolean isStarted = false;
    for (Partition partition : Partitions.all(tx)) {
      if (from != null && partition.compareTo(from.partition()) < 0) {
        continue;
      }
      if (isStarted && isOverBounds()) {
        return new Result(changed, beginning(partition));
      }
      BulkResult.Place begin =
          from != null && partition.equals(from.partition()) ? from : beginning(partition);
      BulkResult.Place next = scanPartition(begin, change);
      if (next != null) {
        return new Result(changed, next);
      }
      isStarted = true;
    }
    return new Result(changed, null);
  }

  private static BulkResult.Place beginning(Partition partition) {
    return new BulkResult.Place(partition, 0, Instant.EPOCH);
  }

  /** Returns where to continue; null at the end of the partition. */
  private BulkResult.@Nullable Place scanPartition(BulkResult.Place from, Change change) {
    BulkResult.Place place = from;
    int chunk = usualChunk;
    while (true) {
      List<Examined> examined = examine(place, chunk);
      List<UUID> matching =
          examined.stream().filter(Examined::matches).map(each -> each.id().value()).toList();
      changed += matching.isEmpty() ? 0 : change.apply(place.partition(), matching);
      int count = examined.isEmpty() ? 0 : examined.getLast().n();
      left -= count;
      if (count < chunk) {
        return null;
      }
      Examined last = examined.getLast();
      BulkResult.Place next = new BulkResult.Place(from.partition(), last.lane(), last.readyAt());
      if (next.equals(place) && matching.isEmpty()) {
        chunk *= 2; // the whole chunk is ready at one instant: only a larger one gets past it
      } else if (isOverBounds()) {
        return next;
      } else {
        chunk = usualChunk;
      }
      place = next;
    }
  }

  private boolean isOverBounds() {
    return left <= 0 || changed + usualChunk > Tasks.MAX_AT_ONCE || nanos.getAsLong() - end >= 0;
  }
}
