package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
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
 * Walks over the waiting tasks of some lanes, partition by partition, and changes those that match
 * a filter. Filters are answered by looking at each task, so a walk ends early once it has looked
 * at many, changed many or taken long; the next one goes on where it ended.
 */
final class WaitingScan {

  /**
   * How far one walk goes.
   *
   * @param chunk how many tasks are looked at, and changed, by one statement, fewer for a text
   * @param reach how many are looked at
   */
  record Bounds(int chunk, int reach, Duration patience) {
    static final Bounds USUAL = new Bounds(5_000, 200_000, Duration.ofSeconds(2));
  }

  /** What is done to those that match; says to how many it could be done. */
  interface Change {
    int apply(Partition partition, List<UUID> tasks);
  }

  /** How many were changed, and where to go on unless that was all. */
  record Walked(int changed, BulkResult.@Nullable Place next) {}

  private final Tx tx;
  private final List<Integer> lanes;
  private final TaskFilter filter;
  private final Instant after;
  private final LongSupplier nanos;

  private final long end;
  private final int usualChunk;
  private int reach;
  private int changed;

  /**
   * @param lanes in ascending order
   * @param after those are meant that are ready only then
   */
  WaitingScan(
      Tx tx,
      List<Integer> lanes,
      TaskFilter filter,
      Instant after,
      Bounds bounds,
      LongSupplier nanos) {
    this.tx = tx;
    this.lanes = lanes;
    this.filter = filter;
    this.after = after;
    this.nanos = nanos;
    this.end = nanos.getAsLong() + bounds.patience().toNanos();
    this.usualChunk = FilterSql.atOnce(filter, bounds.chunk());
    this.reach = bounds.reach();
  }

  // The last row that was reached always comes out, matching or not, to say where to go on. Its
  // instant is looked at again: the index does not tell those apart that are ready at the same one.
  static final String LOOK =
      """
      /* WaitingScan.look */
      WITH %s
      SELECT t.id, t.lane, t.ready_at, t.matches, t.n
      FROM (
          SELECT t.id, t.lane, t.ready_at, %s AS matches,
                 row_number() OVER w AS n,
                 lead(t.id) OVER w IS NULL AS is_last
          FROM f, (
              SELECT t.*
              FROM unnest(?::int[]) AS l (lane)
              CROSS JOIN LATERAL (
                  SELECT t.id, t.lane, t.ready_at, t.state, t.schedule, t.due_at, t.error, t.output, t.metadata
                  FROM carillon.task_{partition} t
                  WHERE t.lane = l.lane
                    AND t.ready_at > CASE l.lane WHEN ? THEN ?::timestamptz ELSE ?::timestamptz END
                  ORDER BY t.ready_at
                  LIMIT ?
              ) t
              LIMIT ?
          ) t
          WINDOW w AS (ORDER BY t.lane, t.ready_at, t.id)
      ) t
      WHERE t.matches OR t.is_last
      ORDER BY t.n
      """
          .formatted(FilterSql.CTE, FilterSql.MATCHES);

  /** A row that came out; the last one was the n-th that was looked at. */
  private record Reached(TaskId id, int lane, Instant readyAt, boolean matches, int n) {}

  private List<Reached> look(BulkResult.Place from, int limit) {
    List<Integer> left = lanes.stream().filter(lane -> lane >= from.lane()).toList();
    Instant before = from.readyAt().minusNanos(1_000); // the database knows microseconds
    return tx.readUnlocking(
        () ->
            tx.query(
                Sql.forPartition(LOOK, from.partition()),
                WaitingScan::reached,
                FilterSql.arguments(
                    filter,
                    Column.ints(left, lane -> lane),
                    from.lane(),
                    before.isAfter(after) ? before : after,
                    after,
                    limit,
                    limit)));
  }

  private static Reached reached(ResultSet row) throws SQLException {
    return new Reached(
        new TaskId(Sql.uuid(row, "id")),
        row.getInt("lane"),
        Sql.requiredInstant(row, "ready_at"),
        row.getBoolean("matches"),
        row.getInt("n"));
  }

  Walked walk(BulkResult.@Nullable Place from, Change change) {
    boolean isUnderWay = false;
    for (Partition partition : Partitions.all(tx)) {
      if (from != null && partition.compareTo(from.partition()) < 0) {
        continue;
      }
      if (isUnderWay && isSpent()) {
        return new Walked(changed, beginning(partition));
      }
      BulkResult.Place begin =
          from != null && partition.equals(from.partition()) ? from : beginning(partition);
      BulkResult.Place next = walkPartition(begin, change);
      if (next != null) {
        return new Walked(changed, next);
      }
      isUnderWay = true;
    }
    return new Walked(changed, null);
  }

  /** Before all lanes. */
  private static BulkResult.Place beginning(Partition partition) {
    return new BulkResult.Place(partition, 0, Instant.EPOCH);
  }

  /** Says where it ended unless at the end. */
  private BulkResult.@Nullable Place walkPartition(BulkResult.Place from, Change change) {
    BulkResult.Place place = from;
    int chunk = usualChunk;
    while (true) {
      List<Reached> reached = look(place, chunk);
      List<UUID> matching =
          reached.stream().filter(Reached::matches).map(each -> each.id().value()).toList();
      changed += matching.isEmpty() ? 0 : change.apply(place.partition(), matching);
      int looked = reached.isEmpty() ? 0 : reached.getLast().n();
      reach -= looked;
      if (looked < chunk) {
        return null;
      }
      Reached last = reached.getLast();
      BulkResult.Place next = new BulkResult.Place(from.partition(), last.lane(), last.readyAt());
      if (next.equals(place) && matching.isEmpty()) {
        chunk *= 2; // so many are ready at one instant that nothing but all of them is a step
      } else if (isSpent()) {
        return next;
      } else {
        chunk = usualChunk;
      }
      place = next;
    }
  }

  private boolean isSpent() {
    return reach <= 0 || changed + usualChunk > Tasks.MOST_AT_ONCE || nanos.getAsLong() - end >= 0;
  }
}
