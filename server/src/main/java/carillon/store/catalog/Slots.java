package carillon.store.catalog;

import carillon.model.Slot;
import carillon.model.task.DayRange;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.StoreException;
import carillon.store.db.Tx;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * The days for which partitions exist: made ahead and on demand, dropped when nothing in them is
 * wanted any more. Days far ahead share one ({@link DayRange}).
 */
public final class Slots {

  private static final int MAX_TRIES = 3;

  private final Db db;
  private final Map<Slot, LocalDate> known; // at least until this day

  public Slots(Db db) {
    this(db, new ConcurrentHashMap<>());
  }

  private Slots(Db db, Map<Slot, LocalDate> known) {
    this.db = db;
    this.known = known;
  }

  /** The same slots through other connections: what one knows the other does. */
  public Slots through(Db other) {
    return new Slots(other, known);
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
    ensure(new DayRange(slot.day(), slot.day()));
  }

  private static final String EXTEND =
      """
      /* Slots.extend */
      UPDATE carillon.slot
      SET last_day = ?
      WHERE day = ?
        AND coalesce(last_day, day) < ?
      """;

  /**
   * Creates the slot of these days unless it exists, and has it kept until the last of them is too
   * old. Asks the database nothing if this process knows that both were done.
   */
  public void ensure(DayRange days) {
    Slot slot = days.slot();
    LocalDate lastDay = known.get(slot);
    if (lastDay == null) {
      db.inTransaction(tx -> tx.query(MAKE, row -> true, slot));
      lastDay = know(slot, slot.day());
    }
    if (lastDay.isBefore(days.last())) {
      // In a second transaction: while it waits for the row's lock, other days can be created.
      db.inTransaction(tx -> tx.update(EXTEND, days.last(), slot, days.last()));
      know(slot, days.last());
    }
  }

  private LocalDate know(Slot slot, LocalDate lastDay) {
    return known.merge(slot, lastDay, (a, b) -> a.isAfter(b) ? a : b);
  }

  /** Forgets which slots exist: the database has another history. */
  public void forget() {
    known.clear();
  }

  private static final String HOLD =
      """
      /* Slots.hold */
      SELECT day
      FROM carillon.slot
      WHERE day = ANY (?)
      ORDER BY day
      FOR KEY SHARE -- who drops a slot deletes this row first
      """;

  /**
   * Keeps old slots from being dropped until the transaction ends, and makes those that are not
   * there any more, whatever this process remembers of them.
   */
  public void hold(Tx tx, Collection<Slot> wanted) {
    Set<Slot> missing = new TreeSet<>(wanted);
    for (int tries = 1; !missing.isEmpty(); tries++) {
      if (tries > MAX_TRIES) {
        throw new StoreException("slot " + missing.iterator().next().suffix() + " does not stay");
      }
      missing.removeAll(
          tx.query(
              HOLD,
              row -> new Slot(row.getObject("day", LocalDate.class)),
              Column.dates(missing, Slot::day)));
      if (!missing.isEmpty()) {
        restore(missing);
      }
    }
  }

  /**
   * This many slots may exist only because something was restored to them: an archive can have a
   * task of every day of many years.
   */
  static final int MOST_RESTORED = 100;

  /** More slots would have to be created than may be. */
  public static final class TooManyRestored extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private TooManyRestored(int days, long left) {
      super(
          "these tasks are of %d days that are not kept any more, and %d such days can be restored"
              .formatted(days, left));
    }
  }

  // The lock of carillon.make_slot: only one transaction at a time counts slots and creates one.
  private static final String ALONE =
      """
      /* Slots.alone */
      SELECT pg_advisory_xact_lock(hashtext('carillon.make_slot'))
      """;

  private static final String RESTORED =
      """
      /* Slots.restored */
      SELECT count(*) FILTER (WHERE restored) AS restored, count(*) FILTER (WHERE day = ANY (?)) AS there
      FROM carillon.slot
      """;

  private static final String MARK_RESTORED =
      """
      /* Slots.markRestored */
      UPDATE carillon.slot
      SET restored = true
      WHERE day = ?
      """;

  /** Creates those that do not exist, in which archived tasks are to lie again. */
  public void restore(Collection<Slot> wanted) {
    wanted.forEach(known::remove);
    db.inTransaction(tx -> missing(tx, wanted)); // refuses before it has created any
    for (Slot slot : wanted) {
      db.inTransaction(
          tx -> {
            tx.query(ALONE, row -> true);
            if (missing(tx, List.of(slot)) > 0) {
              tx.query(MAKE, row -> true, slot);
              tx.update(MARK_RESTORED, slot);
            }
            return true;
          });
      know(slot, slot.day());
    }
  }

  private static int missing(Tx tx, Collection<Slot> wanted) {
    record Counts(long restored, int there) {}
    Counts counts =
        tx.query(
                RESTORED,
                row -> new Counts(row.getLong("restored"), row.getInt("there")),
                Column.dates(wanted, Slot::day))
            .getFirst();
    int missing = wanted.size() - counts.there();
    long left = Math.max(0, MOST_RESTORED - counts.restored());
    if (missing > left) {
      throw new TooManyRestored(missing, left);
    }
    return missing;
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
    return db.ask(tx -> tx.query(OPEN, row -> new Slot(row.getObject("day", LocalDate.class)), by));
  }

  private static final String ALL =
      """
      /* Slots.all */
      SELECT day
      FROM carillon.slot
      ORDER BY day
      """;

  /** How many slots are read between two times that locks are given back. */
  private static final int GROUP = 16;

  /** All there are, earliest first, in groups to be read by {@link Tx#readUnlocking}. */
  public static List<List<Slot>> inGroups(Tx tx) {
    List<Slot> all = all(tx);
    List<List<Slot>> groups = new ArrayList<>();
    for (int from = 0; from < all.size(); from += GROUP) {
      groups.add(all.subList(from, Math.min(all.size(), from + GROUP)));
    }
    return groups;
  }

  private static final String CLAIMED =
      """
      /* Slots.claimed */
      SELECT DISTINCT slot
      FROM carillon.claim
      ORDER BY slot
      """;

  /** Those in which something runs. */
  public static List<Slot> claimed(Tx tx) {
    return tx.query(CLAIMED, row -> new Slot(row.getObject("slot", LocalDate.class)));
  }

  private static final String OPEN_NOW =
      """
      /* Slots.openNow */
      SELECT day
      FROM carillon.slot
      WHERE opens_at <= clock_timestamp()
        AND (? OR coalesce(last_day, day) >= (clock_timestamp() AT TIME ZONE 'UTC')::date - 1)
      ORDER BY day
      """;

  /**
   * The slots in which something may be due by the database's clock: all of them, or those for
   * yesterday and later.
   */
  public List<Slot> openNow(boolean all) {
    return db.ask(
        tx -> tx.query(OPEN_NOW, row -> new Slot(row.getObject("day", LocalDate.class)), all));
  }

  /** All there are, earliest first. */
  public static List<Slot> all(Tx tx) {
    return tx.query(ALL, row -> new Slot(row.getObject("day", LocalDate.class)));
  }

  /**
   * What comes of reading which slots there are and asking them: from the start again if one was
   * dropped in between.
   */
  public static <T> T whileTheyChange(Supplier<T> walk) {
    for (int tries = 1; ; tries++) {
      try {
        return walk.get();
      } catch (StoreException e) {
        if (!e.isGone() || tries == MAX_TRIES) {
          throw e;
        }
      }
    }
  }

  /** What is read in a slot, which is nothing if that was dropped a moment ago. */
  public static <T> List<T> unlessDropped(Supplier<List<T>> read) {
    try {
      return read.get();
    } catch (StoreException e) {
      if (e.isGone()) {
        return List.of();
      }
      throw e;
    }
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
  public static void openEarlier(Tx tx, Slot slot, Instant readyAt) {
    tx.update(OPEN_EARLIER, readyAt, slot, readyAt);
  }

  private static final String OLD =
      """
      /* Slots.old */
      SELECT day
      FROM carillon.slot
      WHERE coalesce(last_day, day) < ?
      ORDER BY day
      LIMIT 100
      """;

  // Readers and writers of other slots queue behind whoever waits for the parent's lock, so nobody
  // waits for it long.
  private static final String NO_WAITING =
      """
      /* Slots.noWaiting */
      SET LOCAL lock_timeout = '100ms'
      """;

  private static final String LOCK =
      """
      /* Slots.lock */
      LOCK TABLE carillon.task_{slot} IN ACCESS EXCLUSIVE MODE
      """;

  private static final String IN_USE =
      """
      /* Slots.inUse */
      SELECT EXISTS (SELECT FROM carillon.task_{slot} WHERE ready_at IS NOT NULL)
          OR EXISTS (SELECT FROM carillon.claim WHERE slot = ?)
          OR EXISTS (SELECT FROM carillon.dead_letter WHERE slot = ?) AS in_use
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
            tx -> tx.query(OLD, row -> new Slot(row.getObject("day", LocalDate.class)), oldest));
    int dropped = 0;
    for (Slot slot : old) {
      dropped += isUnused(slot) && tryDrop(slot) ? 1 : 0;
    }
    return dropped;
  }

  /** Asked without a lock first: most old slots that are in use stay so for long. */
  private boolean isUnused(Slot slot) {
    return db.inTransaction(tx -> !isInUse(tx, slot));
  }

  private static boolean isInUse(Tx tx, Slot slot) {
    return tx.query(Sql.forSlot(IN_USE, slot), row -> row.getBoolean("in_use"), slot, slot)
        .getFirst();
  }

  private boolean tryDrop(Slot slot) {
    try {
      return db.inTransaction(tx -> drop(tx, slot));
    } catch (StoreException e) {
      if (e.isBusy()) {
        return false; // next time
      }
      throw e;
    }
  }

  private boolean drop(Tx tx, Slot slot) {
    tx.update(NO_WAITING);
    if (tx.update(FORGET, slot) == 0) {
      return false; // another node was faster
    }
    tx.update(Sql.forSlot(LOCK, slot));
    if (isInUse(tx, slot)) {
      throw new StoreException("slot " + slot.suffix() + " came into use again");
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
