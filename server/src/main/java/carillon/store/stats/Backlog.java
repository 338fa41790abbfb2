package carillon.store.stats;

import carillon.model.Partition;
import carillon.model.task.Lane;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The number of due tasks and of dead letter groups, for metrics. */
public final class Backlog {

  private final Db db;
  private final Catalog catalog;
  private final DuePartitions partitions;

  public Backlog(Db db, Catalog catalog, Partitions partitions) {
    this.db = db;
    this.catalog = catalog;
    this.partitions = new DuePartitions(db, partitions);
  }

  private static final String COUNT_DUE =
      """
      /* Backlog.read */
      SELECT count(*) AS due, min(ready_at) AS oldest
      FROM (
          SELECT t.ready_at
          FROM unnest(?::int[]) AS l (lane)
          CROSS JOIN LATERAL (
              SELECT ready_at
              FROM carillon.queue_{partition}
              WHERE lane = l.lane
                AND ready_at <= (SELECT clock_timestamp())
              ORDER BY ready_at
              LIMIT ?
          ) t
          LIMIT ?
      ) t
      """;

  /**
   * The due tasks.
   *
   * @param due counted up to a limit, so that a long backlog costs no more than a short one;
   *     without the partitions that {@link DuePartitions} leaves out
   */
  public record Length(long due, @Nullable Instant oldest) {}

  /** Counts in all lanes; in older and later partitions only where the last census found tasks. */
  public Length read(Instant now, int limit) {
    long due = 0;
    Instant oldest = null;
    List<Integer> lanes = catalog.lanes().stream().map(Lane::id).toList();
    for (Map.Entry<Partition, List<Integer>> some : partitions.of(lanes, now).lanes().entrySet()) {
      for (Length here : count(some.getKey(), some.getValue(), limit)) {
        due += here.due();
        Instant at = here.oldest();
        oldest = at != null && (oldest == null || at.isBefore(oldest)) ? at : oldest;
      }
    }
    return new Length(Math.min(due, limit), oldest);
  }

  private List<Length> count(Partition partition, List<Integer> lanes, int limit) {
    String sql = Sql.forPartition(COUNT_DUE, partition);
    Tx.Row<Length> length = row -> new Length(row.getLong("due"), Sql.instant(row, "oldest"));
    Column some = Column.ints(lanes, lane -> lane);
    return Partitions.unlessDropped(
        () -> db.autoCommit(tx -> tx.query(sql, length, some, limit, limit)));
  }

  private static final String COUNT_GROUPS =
      """
      /* Backlog.deadLetterGroups */
      SELECT count(*) AS groups
      FROM (
          SELECT
          FROM carillon.dead_letter_group
          WHERE letters > 0
          LIMIT ?
      ) g
      """;

  /** The number of dead letter groups, counted up to a limit. */
  public long deadLetterGroups(int limit) {
    return db.inTransaction(
        tx -> tx.query(COUNT_GROUPS, row -> row.getLong("groups"), limit).getFirst());
  }
}
