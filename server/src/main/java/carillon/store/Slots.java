package carillon.store;

import carillon.model.Slot;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The days for which partitions exist: made ahead and on demand, dropped when nothing in them is
 * wanted any more.
 */
public final class Slots {

  private final Db db;
  private final Set<Slot> known = ConcurrentHashMap.newKeySet();

  public Slots(Db db) {
    this.db = db;
  }

  private static final String MAKE =
      """
      /* Slots.ensure */
      SELECT carillon.make_slot(?)
      """;

  /**
   * Makes the slot unless it is there; in a transaction of its own, so that its lock is held for a
   * moment only.
   */
  public void ensure(Slot slot) {
    if (!known.contains(slot)) {
      db.inTransaction(tx -> tx.query(MAKE, row -> true, slot));
      known.add(slot);
    }
  }

  private static final String OPEN =
      """
      /* Slots.open */
      SELECT day
      FROM carillon.slot
      WHERE opens_at <= ?
      ORDER BY day
      """;

  /** The slots in which something may be due by then. */
  public List<Slot> open(Instant by) {
    return db.inTransaction(
        tx -> tx.query(OPEN, row -> new Slot(row.getObject("day", LocalDate.class)), by));
  }

  private static final String OPEN_EARLIER =
      """
      /* Slots.openEarlier */
      UPDATE carillon.slot
      SET opens_at = ?
      WHERE day = ?
        AND opens_at > ?
      """;

  /** A task in this slot is now wanted earlier than its day. */
  static void openEarlier(Tx tx, Slot slot, Instant readyAt) {
    tx.update(OPEN_EARLIER, readyAt, slot, readyAt);
  }

  private static final String DROPPABLE =
      """
      /* Slots.droppable */
      SELECT s.day
      FROM carillon.slot s
      WHERE s.day < ?
        AND NOT EXISTS (SELECT FROM carillon.claim c WHERE c.slot = s.day)
        AND NOT EXISTS (SELECT FROM carillon.dead_letter d WHERE d.slot = s.day)
      ORDER BY s.day
      LIMIT 10
      """;

  private static final String HAS_WAITING =
      """
      /* Slots.hasWaiting */
      SELECT FROM carillon.task_{slot}
      WHERE ready_at IS NOT NULL
      LIMIT 1
      """;

  private static final String DROP =
      """
      /* Slots.drop */
      DROP TABLE carillon.task_{slot}, carillon.attempt_{slot}, carillon.transition_{slot}
      """;

  private static final String FORGET =
      """
      /* Slots.forget */
      DELETE FROM carillon.slot
      WHERE day = ?
      """;

  /** Drops old slots in which nothing waits, runs or is a dead letter; says how many. */
  public int dropBefore(Slot oldest) {
    List<Slot> old =
        db.inTransaction(
            tx ->
                tx.query(
                    DROPPABLE, row -> new Slot(row.getObject("day", LocalDate.class)), oldest));
    int dropped = 0;
    for (Slot slot : old) {
      dropped += db.inTransaction(tx -> drop(tx, slot)) ? 1 : 0;
    }
    return dropped;
  }

  private boolean drop(Tx tx, Slot slot) {
    if (!tx.query(Sql.forSlot(HAS_WAITING, slot), row -> true).isEmpty()) {
      return false;
    }
    if (tx.update(FORGET, slot) == 0) {
      return false; // another node was faster
    }
    tx.update(Sql.forSlot(DROP, slot));
    tx.afterCommit(
        () -> {
          known.remove(slot);
          Sql.forgetSlot(slot);
        });
    return true;
  }
}
