package carillon.store.catalog;

import carillon.model.Partition;
import carillon.model.task.DayRange;
import carillon.store.db.Column;
import carillon.store.db.Db;
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
 * The partitions: created ahead and on demand, dropped when nothing in them is needed any more.
 * Days in the far future share one ({@link DayRange}).
 */
public final class Partitions {

  private static final int MAX_TRIES = 3;

  private final Db db;
  private final Map<Partition, LocalDate> known; // at least until this day

  public Partitions(Db db) {
    this(db, new ConcurrentHashMap<>());
  }

  private Partitions(Db db, Map<Partition, LocalDate> known) {
    this.db = db;
    this.known = known;
  }

  /** The same partitions through another handle. Both share what they know. */
  public Partitions through(Db other) {
    return new Partitions(other, known);
  }

  private static final String CREATE =
      """
      /* Partitions.ensure */
      SELECT carillon.create_partition(?)
      """;

  /**
   * Creates the partition unless it exists, in a transaction of its own, so that its lock is held
   * only for a moment.
   */
  public void ensure(Partition partition) {
    ensure(new DayRange(partition.day(), partition.day()));
  }

  private static final String EXTEND =
      """
      /* Partitions.extend */
      UPDATE carillon.partition
      SET last_day = ?
      WHERE day = ?
        AND coalesce(last_day, day) < ?
      """;

  /**
   * Creates the partition of these days unless it exists, and extends its retention to the last of
   * them. Sends no query if this process knows that both were done.
   */
  public void ensure(DayRange days) {
    Partition partition = days.partition();
    LocalDate lastDay = known.get(partition);
    if (lastDay == null) {
      db.inTransaction(tx -> tx.query(CREATE, row -> true, partition));
      lastDay = know(partition, partition.day());
    }
    if (lastDay.isBefore(days.last())) {
      // In a second transaction: while it waits for the row's lock, other days can be created.
      db.inTransaction(tx -> tx.update(EXTEND, days.last(), partition, days.last()));
      know(partition, days.last());
    }
  }

  private LocalDate know(Partition partition, LocalDate lastDay) {
    return known.merge(partition, lastDay, (a, b) -> a.isAfter(b) ? a : b);
  }

  /** Forgets which partitions exist, after the database was replaced by another timeline. */
  public void forget() {
    known.clear();
  }

  private static final String HOLD =
      """
      /* Partitions.hold */
      SELECT day
      FROM carillon.partition
      WHERE day = ANY (?)
      ORDER BY day
      FOR KEY SHARE -- a drop deletes this row first
      """;

  /**
   * Protects old partitions from being dropped until the transaction ends, and creates those that
   * no longer exist, whatever this process remembers.
   */
  public void hold(Tx tx, Collection<Partition> wanted) {
    Set<Partition> missing = new TreeSet<>(wanted);
    for (int tries = 1; !missing.isEmpty(); tries++) {
      if (tries > MAX_TRIES) {
        throw new StoreException(
            "partition "
                + missing.iterator().next().suffix()
                + " was dropped again and again; try again later");
      }
      missing.removeAll(
          tx.query(
              HOLD,
              row -> new Partition(row.getObject("day", LocalDate.class)),
              Column.dates(missing, Partition::day)));
      if (!missing.isEmpty()) {
        restore(missing);
      }
    }
  }

  /**
   * Partitions that may exist only for restored tasks: an archive can have a task of every day of
   * many years.
   */
  static final int MAX_RESTORED = 100;

  /** Too many partitions would have to be created. */
  public static final class TooManyRestored extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private TooManyRestored(int days, long left) {
      super(
          "these tasks need partitions of %d days that were dropped, and %d such days can be restored"
              .formatted(days, left));
    }
  }

  // The lock of carillon.create_partition: only one transaction at a time counts partitions and
  // creates one.
  private static final String ALONE =
      """
      /* Partitions.alone */
      SELECT pg_advisory_xact_lock(hashtext('carillon.create_partition'))
      """;

  private static final String RESTORED =
      """
      /* Partitions.restored */
      SELECT count(*) FILTER (WHERE restored) AS restored, count(*) FILTER (WHERE day = ANY (?)) AS there
      FROM carillon.partition
      """;

  private static final String MARK_RESTORED =
      """
      /* Partitions.markRestored */
      UPDATE carillon.partition
      SET restored = true
      WHERE day = ?
      """;

  /** Creates missing partitions for archived tasks that are restored. */
  public void restore(Collection<Partition> wanted) {
    wanted.forEach(known::remove);
    db.inTransaction(tx -> missing(tx, wanted)); // refuses before it has created any
    for (Partition partition : wanted) {
      db.inTransaction(
          tx -> {
            tx.query(ALONE, row -> true);
            if (missing(tx, List.of(partition)) > 0) {
              tx.query(CREATE, row -> true, partition);
              tx.update(MARK_RESTORED, partition);
            }
            return true;
          });
      know(partition, partition.day());
    }
  }

  private static int missing(Tx tx, Collection<Partition> wanted) {
    record Counts(long restored, int there) {}
    Counts counts =
        tx.query(
                RESTORED,
                row -> new Counts(row.getLong("restored"), row.getInt("there")),
                Column.dates(wanted, Partition::day))
            .getFirst();
    int missing = wanted.size() - counts.there();
    long left = Math.max(0, MAX_RESTORED - counts.restored());
    if (missing > left) {
      throw new TooManyRestored(missing, left);
    }
    return missing;
  }

  private static final String OPEN =
      """
      /* Partitions.open */
      SELECT day
      FROM carillon.partition
      WHERE opens_at <= ?
      ORDER BY day
      """;

  /** The partitions with tasks that may be due by then. */
  public List<Partition> open(Instant by) {
    return db.autoCommit(
        tx -> tx.query(OPEN, row -> new Partition(row.getObject("day", LocalDate.class)), by));
  }

  private static final String ALL =
      """
      /* Partitions.all */
      SELECT day
      FROM carillon.partition
      ORDER BY day
      """;

  /** How many partitions are read before their locks are released. */
  private static final int GROUP = 16;

  /** All partitions, earliest first, in groups for {@link Tx#readUnlocking}. */
  public static List<List<Partition>> inGroups(Tx tx) {
    List<Partition> all = all(tx);
    List<List<Partition>> groups = new ArrayList<>();
    for (int from = 0; from < all.size(); from += GROUP) {
      groups.add(all.subList(from, Math.min(all.size(), from + GROUP)));
    }
    return groups;
  }

  private static final String CLAIMED =
      """
      /* Partitions.claimed */
      SELECT DISTINCT partition
      FROM carillon.claim
      ORDER BY partition
      """;

  /** The partitions with running tasks. */
  public static List<Partition> claimed(Tx tx) {
    return tx.query(CLAIMED, row -> new Partition(row.getObject("partition", LocalDate.class)));
  }

  private static final String OPEN_NOW =
      """
      /* Partitions.openNow */
      SELECT day
      FROM carillon.partition
      WHERE opens_at <= clock_timestamp()
        AND (? OR coalesce(last_day, day) >= (clock_timestamp() AT TIME ZONE 'UTC')::date - 1)
      ORDER BY day
      """;

  /**
   * The partitions with tasks that may be due by the database's clock: all of them, or those for
   * yesterday and later.
   */
  public List<Partition> openNow(boolean all) {
    return db.autoCommit(
        tx -> tx.query(OPEN_NOW, row -> new Partition(row.getObject("day", LocalDate.class)), all));
  }

  /** All partitions, earliest first. */
  public static List<Partition> all(Tx tx) {
    return tx.query(ALL, row -> new Partition(row.getObject("day", LocalDate.class)));
  }

  /**
   * Runs work that lists the partitions and queries them, and starts over if one was dropped in
   * between.
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

  /** The result of a query on one partition; empty if it has just been dropped. */
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
      /* Partitions.openEarlier */
      UPDATE carillon.partition
      SET opens_at = ?
      WHERE day = ?
        AND opens_at > ?
      """;

  /** Opens a partition before its day, because a task in it is due earlier. */
  public static void openEarlier(Tx tx, Partition partition, Instant readyAt) {
    tx.update(OPEN_EARLIER, readyAt, partition, readyAt);
  }

  /** Drops old partitions without waiting, running or dead tasks; returns how many. */
  public int dropBefore(Partition oldest) {
    return new OldPartitions(db, known::remove).dropBefore(oldest);
  }
}
