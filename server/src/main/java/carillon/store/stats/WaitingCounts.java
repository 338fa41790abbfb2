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

/** Counts waiting tasks of each lane and partition in the queue's index, and stores the counts. */
public final class WaitingCounts {

  private final Db db;

  public WaitingCounts(Db db) {
    this.db = db;
  }

  // From PostgreSQL's own counters, which are in memory. They change up to some seconds after a
  // commit, never before it: a census that reads them and then counts includes every change, or
  // sees it next time.
  private static final String CHANGES =
      """
      /* WaitingCounts.changes */
      SELECT s.day,
             pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid)
                 + pg_stat_get_tuples_deleted(c.oid) AS changes
      FROM carillon.partition s
      CROSS JOIN LATERAL (SELECT to_regclass('carillon.queue_' || to_char(s.day, 'YYYYMMDD')) AS oid) c
      WHERE c.oid IS NOT NULL
      ORDER BY s.day
      """;

  /** For each partition, a number that differs after every change in it. */
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
      FROM carillon.queue_{partition}
      GROUP BY lane
      """;

  /** In autocommit mode: it may take seconds, and a takeover waits for open transactions. */
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
  private static final String DELETE_EMPTY =
      """
      /* WaitingCounts.saveOnly */
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

  private static final String SAVE =
      """
      /* WaitingCounts.save */
      INSERT INTO carillon.waiting AS w (lane, partition, tasks)
      SELECT n.lane, ?, n.tasks
      FROM unnest(?::int[], ?::bigint[]) AS n (lane, tasks)
      ORDER BY n.lane
      ON CONFLICT (lane, partition) DO UPDATE
      SET tasks = excluded.tasks
      WHERE w.tasks <> excluded.tasks
      """;

  /** Replaces the counts of a partition. */
  public void save(Partition partition, Map<Integer, Long> counts) {
    List<Map.Entry<Integer, Long>> rows = List.copyOf(new TreeMap<>(counts).entrySet());
    db.inTransaction(
        tx -> {
          Column lanes = Column.ints(rows, Map.Entry::getKey);
          tx.update(DELETE_EMPTY, partition, partition, lanes);
          return tx.update(SAVE, partition, lanes, Column.longs(rows, Map.Entry::getValue));
        });
  }

  private static final String FORGET =
      """
      /* WaitingCounts.forgetOthers */
      DELETE FROM carillon.waiting
      WHERE partition <> ALL (?)
      """;

  /** Deletes the counts of dropped partitions. */
  public int forgetOthers(Collection<Partition> partitions) {
    return db.inTransaction(tx -> tx.update(FORGET, Column.dates(partitions, Partition::day)));
  }

  private static final String DONE =
      """
      /* WaitingCounts.done */
      UPDATE carillon.census
      SET begun_at = ?
      """;

  /** Records that every change before this time has been counted. */
  public void done(Instant begunAt) {
    db.inTransaction(tx -> tx.update(DONE, begunAt));
  }
}
