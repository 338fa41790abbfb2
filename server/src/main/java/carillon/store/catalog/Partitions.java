package carillon.store.catalog;

import carillon.model.Partition;
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
   * This many partitions may exist only because something was restored to them: an archive can have
   * a task of every day of many years.
   */
  static final int MOST_RESTORED = 100;

  /** More partitions would have to be created than may be. */
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
    long left = Math.max(0, MOST_RESTORED - counts.restored());
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

  /** The partitions in which something may be due by then. */
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

  /** How many partitions are read between two times that locks are given back. */
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

  private static final String OLD =
      """
      /* Partitions.old */
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
      /* Partitions.noWaiting */
      SET LOCAL lock_timeout = '100ms'
      """;

  private static final String LOCK =
      """
      /* Partitions.lock */
      LOCK TABLE carillon.task_{partition} IN ACCESS EXCLUSIVE MODE
      """;

  private static final String IN_USE =
      """
      /* Partitions.inUse */
      SELECT EXISTS (SELECT FROM carillon.task_{partition} WHERE ready_at IS NOT NULL)
          OR EXISTS (SELECT FROM carillon.claim WHERE partition = ?)
          OR EXISTS (SELECT FROM carillon.dead_letter WHERE partition = ?) AS in_use
      """;

  private static final String DROP =
      """
      /* Partitions.drop */
      DROP TABLE carillon.task_{partition}, carillon.attempt_{partition}, carillon.transition_{partition}
      """;

  private static final String FORGET =
      """
      /* Partitions.forget */
      DELETE FROM carillon.partition
      WHERE day = ?
      """;

  /** Drops old partitions without waiting, running or dead tasks; returns how many. */
  public int dropBefore(Partition oldest) {
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

  /** Asked without a lock first: most old partitions that are in use stay so for long. */
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
    if (tx.update(FORGET, partition) == 0) {
      return false; // another node was faster
    }
    tx.update(Sql.forPartition(LOCK, partition));
    if (isInUse(tx, partition)) {
      throw new StoreException("partition " + partition.suffix() + " came into use again");
    }
    tx.update(Sql.forPartition(DROP, partition));
    tx.afterCommit(
        () -> {
          known.remove(partition);
          Sql.forgetPartition(partition);
        });
    return true;
  }
}
