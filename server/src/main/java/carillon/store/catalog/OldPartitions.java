package carillon.store.catalog;

import carillon.model.Partition;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.StoreException;
import carillon.store.db.Tx;
import java.time.LocalDate;
import java.util.List;
import java.util.function.Consumer;

/** Drops old partitions that are not needed any more. */
final class OldPartitions {

  private final Db db;
  private final Consumer<Partition> onDropped;

  OldPartitions(Db db, Consumer<Partition> onDropped) {
    this.db = db;
    this.onDropped = onDropped;
  }

  private static final String OLD =
      """
      /* OldPartitions.old */
      SELECT day
      FROM carillon.partition
      WHERE coalesce(last_day, day) < ?
      ORDER BY day
      LIMIT 100
      """;

  // Queries on all partitions queue behind a session that waits for the parent's lock, so none
  // waits for it long.
  private static final String NO_WAITING =
      """
      /* OldPartitions.noWaiting */
      SET LOCAL lock_timeout = '100ms'
      """;

  // Not part of LOCK: LOCK TABLE on a view would also lock carillon.claim, which the view reads.
  // This transaction locks the views, then the partition of carillon.task. A transaction in which
  // TaskReader finds or locks a task locks the same objects in the opposite order. If the two block
  // each other, lock_timeout aborts this transaction before PostgreSQL looks for the deadlock, and
  // the next pass tries again.
  private static final String DROP_VIEWS =
      """
      /* OldPartitions.dropViews */
      DROP VIEW carillon.every_transition_{partition}, carillon.every_task_{partition}
      """;

  private static final String LOCK =
      """
      /* OldPartitions.lock */
      LOCK TABLE carillon.task_{partition}, carillon.queue_{partition} IN ACCESS EXCLUSIVE MODE
      """;

  private static final String IN_USE =
      """
      /* OldPartitions.inUse */
      SELECT EXISTS (SELECT FROM carillon.queue_{partition})
          OR EXISTS (SELECT FROM carillon.claim WHERE partition = ?)
          OR EXISTS (SELECT FROM carillon.dead_letter WHERE partition = ?) AS in_use
      """;

  private static final String DROP =
      """
      /* OldPartitions.drop */
      DROP TABLE carillon.task_{partition}, carillon.queue_{partition}, carillon.attempt_{partition},
          carillon.transition_{partition}
      """;

  private static final String DELETE_ROW =
      """
      /* OldPartitions.delete */
      DELETE FROM carillon.partition
      WHERE day = ?
      """;

  /** Drops old partitions without waiting, running or dead tasks; returns how many. */
  int dropBefore(Partition oldest) {
    List<Partition> old =
        db.inTransaction(
            tx ->
                tx.query(OLD, row -> new Partition(row.getObject("day", LocalDate.class)), oldest));
    int dropped = 0;
    for (Partition partition : old) {
      dropped += isUnused(partition) && tryDrop(partition) ? 1 : 0;
    }
    return dropped;
  }

  /** Checked without a lock first: most old partitions in use stay in use for long. */
  private boolean isUnused(Partition partition) {
    return db.inTransaction(tx -> !isInUse(tx, partition));
  }

  private static boolean isInUse(Tx tx, Partition partition) {
    return tx.query(
            Sql.forPartition(IN_USE, partition),
            row -> row.getBoolean("in_use"),
            partition,
            partition)
        .getFirst();
  }

  private boolean tryDrop(Partition partition) {
    try {
      return db.inTransaction(tx -> drop(tx, partition));
    } catch (StoreException e) {
      if (e.isBusy()) {
        return false; // next time
      }
      throw e;
    }
  }

  private boolean drop(Tx tx, Partition partition) {
    tx.update(NO_WAITING);
    if (tx.update(DELETE_ROW, partition) == 0) {
      return false; // another node was faster
    }
    tx.update(Sql.forPartition(DROP_VIEWS, partition));
    tx.update(Sql.forPartition(LOCK, partition));
    if (isInUse(tx, partition)) {
      throw new StoreException("partition " + partition.suffix() + " came into use again");
    }
    tx.update(Sql.forPartition(DROP, partition));
    tx.afterCommit(
        () -> {
          onDropped.accept(partition);
          Sql.forgetPartition(partition);
        });
    return true;
  }
}
