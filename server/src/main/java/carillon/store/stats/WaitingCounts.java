package carillon.store.stats;

import carillon.model.Partition;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** How many tasks wait in each lane of each partition: counted in the queue's index, and kept. */
public final class WaitingCounts {

  private final Db db;

  public WaitingCounts(Db db) {
    this.db = db;
  }

  // From PostgreSQL's own counters, which are in memory. They come up to some seconds after a
  // commit, never before it; so who reads them first and counts then sees every change, or is told
  // of it the next time.
  private static final String CHANGES =
      """
      /* WaitingCounts.changes */
      SELECT s.day,
             pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
                 + pg_stat_get_tuples_deleted(c.oid) AS changes
      FROM carillon.partition s
      CROSS JOIN LATERAL (SELECT to_regclass('carillon.task_' || to_char(s.day, 'YYYYMMDD')) AS oid) c
      WHERE c.oid IS NOT NULL
      ORDER BY s.day
      """;

  /** All partitions, and for each a number that is another one once anything in it has changed. */
  public Map<Partition, Long> changes() {
    Map<Partition, Long> changes = new TreeMap<>();
    db.autoCommit(
        tx ->
            tx.query(
                CHANGES,
                row ->
                    changes.put(
                        new Partition(row.getObject("day", LocalDate.class)),
                        row.getLong("changes"))));
    return changes;
  }

  private static final String COUNT =
      """
      /* WaitingCounts.count */
      SELECT lane, count(*) AS tasks
      FROM carillon.task_{partition}
      WHERE ready_at IS NOT NULL
      GROUP BY lane
      """;

  /** By a statement alone: what may take seconds must not keep a takeover waiting. */
  public Map<Integer, Long> count(Partition partition) {
    Map<Integer, Long> counts = new HashMap<>();
    db.autoCommit(
        tx ->
            tx.query(
                Sql.forPartition(COUNT, partition),
                row -> counts.put(row.getInt("lane"), row.getLong("tasks"))));
    return counts;
  }

  // Not "lane <> ALL (?)", which compares every lane with every other.
  private static final String EMPTIED =
      """
      /* WaitingCounts.keepOnly */
      DELETE FROM carillon.waiting
      WHERE partition = ?
        AND lane = ANY (ARRAY(
            SELECT lane
            FROM carillon.waiting
            WHERE partition = ?
            EXCEPT
            SELECT unnest(?::int[])
        ))
      """;

  private static final String KEEP =
      """
      /* WaitingCounts.keep */
      INSERT INTO carillon.waiting AS w (lane, partition, tasks)
      SELECT n.lane, ?, n.tasks
      FROM unnest(?::int[], ?::bigint[]) AS n (lane, tasks)
      ORDER BY n.lane
      ON CONFLICT (lane, partition) DO UPDATE
      SET tasks = excluded.tasks
      WHERE w.tasks <> excluded.tasks
      """;

  /** Replaces what is kept of a partition. */
  public void keep(Partition partition, Map<Integer, Long> counts) {
    List<Map.Entry<Integer, Long>> rows = List.copyOf(new TreeMap<>(counts).entrySet());
    db.inTransaction(
        tx -> {
          Column lanes = Column.ints(rows, Map.Entry::getKey);
          tx.update(EMPTIED, partition, partition, lanes);
          return tx.update(KEEP, partition, lanes, Column.longs(rows, Map.Entry::getValue));
        });
  }

  private static final String FORGET =
      """
      /* WaitingCounts.forgetOthers */
      DELETE FROM carillon.waiting
      WHERE partition <> ALL (?)
      """;

  /** Forgets the partitions that are gone. */
  public int forgetOthers(Collection<Partition> partitions) {
    return db.inTransaction(tx -> tx.update(FORGET, Column.dates(partitions, Partition::day)));
  }

  private static final String DONE =
      """
      /* WaitingCounts.done */
      UPDATE carillon.census
      SET begun_at = ?
      """;

  /** Whatever had changed by then has been counted since. */
  public void done(Instant begunAt) {
    db.inTransaction(tx -> tx.update(DONE, begunAt));
  }
}
