package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.task.DayRange;
import carillon.model.task.Lane;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.StoreException;
import carillon.store.db.Tx;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the earliest waiting task of every lane into the {@link Agenda}. It finds the tasks that no
 * hint has announced. A process has one, shared by its engine and its API.
 */
public final class QueueSweep {

  private static final Logger log = LoggerFactory.getLogger(QueueSweep.class);

  private static final int SWEEPS_PER_FULL_SWEEP = 10;
  private static final int SWEEPS_PER_FULL_SWEEP_WITHOUT_HINTS = 2;

  /**
   * A task appears this long after it became ready, at the most, unless the transaction that
   * created it was open for longer.
   */
  private static final Duration LATE_COMMIT = Duration.ofMinutes(5);

  /** Pages of the queue that one statement reads: about 50,000 rows, in tens of milliseconds. */
  private static final int PAGES_AT_ONCE = 500;

  /** How long a sweep reads pages, unless it is the first of a partition and reads all. */
  private static final Duration TIME_FOR_PAGES = Duration.ofSeconds(1);

  /** Every sweep reads a partition from this long before its day. */
  private static final Duration BEFORE_ITS_DAY = Duration.ofMinutes(1);

  private final Db db;
  private final Catalog catalog;
  private final Partitions partitions;
  private final Agenda agenda;
  private final Duration timeForPages;
  private final AtomicInteger sweeps = new AtomicInteger();
  private volatile int sweepsPerFullSweep = SWEEPS_PER_FULL_SWEEP;
  private @Nullable Long sweptAt; // guarded by this
  private volatile Set<Partition> open = Set.of(); // at the last sweep

  /** The open partitions that were swept since they opened. */
  private volatile Set<Partition> swept = Set.of();

  /** How far each partition was swept. */
  private final Map<Partition, Reach> reached = new ConcurrentHashMap<>();

  /**
   * How far a partition was swept.
   *
   * @param from tasks that became ready before were found by earlier sweeps
   * @param pages null if the last sweep read the whole partition
   */
  private record Reach(Instant from, @Nullable Pages pages) {}

  /**
   * How far the pages of a partition were read.
   *
   * @param from tasks that became ready before had been committed when the first page was read
   * @param next the next page to read
   */
  private record Pages(Instant from, long next) {}

  public QueueSweep(Db db, Catalog catalog, Partitions partitions, Agenda agenda) {
    this(db, catalog, partitions, agenda, TIME_FOR_PAGES);
  }

  QueueSweep(Db db, Catalog catalog, Partitions partitions, Agenda agenda, Duration timeForPages) {
    this.db = db;
    this.catalog = catalog;
    this.partitions = partitions;
    this.agenda = agenda;
    this.timeForPages = timeForPages;
  }

  /** Makes every other sweep a full one, because other nodes send this one no hints. */
  public void sweepWithoutHints() {
    sweepsPerFullSweep = SWEEPS_PER_FULL_SWEEP_WITHOUT_HINTS;
  }

  /** Whether the last sweep found this partition open, so that tasks in it may be due. */
  public boolean isOpen(Partition partition) {
    return open.contains(partition);
  }

  /** Sweeps unless this process did so within the interval. */
  public void sweepAfter(Duration interval, Instant openBy) {
    synchronized (this) {
      long now = System.nanoTime();
      if (sweptAt != null && now - sweptAt < interval.toNanos()) {
        return;
      }
      sweptAt = now;
    }
    sweep(openBy);
  }

  /**
   * Adds the head of every lane to the agenda, in the partitions that are open by then. Partitions
   * before yesterday, and those opened before their day, are read when they are new here, when
   * something in them is known to be due, and otherwise in full sweeps only: the process that makes
   * a task due there adds it to its agenda and, in another node's lane, sends that node a hint.
   */
  public void sweep(Instant openBy) {
    Partition yesterday = Partition.of(openBy.minus(Duration.ofDays(1)));
    Partition today = Partition.of(openBy.plus(BEFORE_ITS_DAY));
    Set<Partition> shared =
        new HashSet<>(DayRange.sharedAt(openBy)); // may have tasks of today as well
    shared.addAll(DayRange.sharedAt(openBy.minus(Duration.ofDays(1))));
    Set<Partition> due = agenda.partitionsDueBy(openBy);
    boolean isFull = sweeps.getAndIncrement() % sweepsPerFullSweep == 0;
    List<Partition> opened = partitions.open(openBy);
    Set<Partition> before = swept;
    Set<Partition> all = Set.copyOf(opened);
    open = all;
    agenda.removeDropped(yesterday, all);
    reached.keySet().retainAll(all);
    for (Partition partition : opened) {
      boolean isRecent =
          shared.contains(partition)
              || (partition.compareTo(yesterday) >= 0 && partition.compareTo(today) <= 0);
      // A new partition is always read: hints about it were ignored until it was seen to be open.
      if (isFull || isRecent || due.contains(partition) || !before.contains(partition)) {
        sweepPartition(partition, openBy);
      }
    }
    swept = all;
  }

  // Jumps from lane to lane in the index.
  static final String SWEEP =
      """
      /* QueueSweep.sweepPartition */
      WITH RECURSIVE head AS (
          (SELECT lane, ready_at
           FROM carillon.queue_{partition}
           ORDER BY lane, ready_at
           LIMIT 1)
          UNION ALL
          SELECT next.lane, next.ready_at
          FROM head
          CROSS JOIN LATERAL (
              SELECT lane, ready_at
              FROM carillon.queue_{partition}
              WHERE lane > head.lane
              ORDER BY lane, ready_at
              LIMIT 1
          ) next
      )
      SELECT lane, ready_at
      FROM head
      """;

  /**
   * While a transaction holds an old snapshot, a whole sweep steps over the index entries of all
   * tasks claimed since. Once that takes too long, sweeps read the tasks that became ready
   * recently, and the others page by page from the table: some pages in each sweep, and all of them
   * in the first. After the last page, the whole is tried again.
   */
  private void sweepPartition(Partition partition, Instant now) {
    Instant from = now.minus(LATE_COMMIT);
    Reach last = reached.get(partition);
    if (last != null && last.pages() != null) {
      continueInParts(partition, last, last.pages(), from);
    } else if (succeeds(() -> sweepWhole(partition))) {
      reached.put(partition, new Reach(from, null));
    } else {
      log.warn("sweep took too long: reads page by page partition={}", partition.suffix());
      startInParts(partition, last, from);
    }
  }

  private void startInParts(Partition partition, @Nullable Reach last, Instant from) {
    Pages pages = new Pages(from, 0);
    if (last == null) { // the process has just started, or the partition: all is unknown
      readPages(partition, new Reach(from, pages), pages, Duration.ofDays(1));
    } else {
      continueInParts(partition, last, pages, from);
    }
  }

  private void continueInParts(Partition partition, Reach last, Pages pages, Instant from) {
    boolean isRead = succeeds(() -> sweepRecent(partition, last.from()));
    readPages(partition, new Reach(isRead ? from : last.from(), pages), pages, timeForPages);
  }

  /** Reads pages for this long, and saves after each part how far it came. */
  private void readPages(Partition partition, Reach reach, Pages pages, Duration atMost) {
    long end = System.nanoTime() + atMost.toNanos();
    OptionalLong next = OptionalLong.of(pages.next());
    do {
      reached.put(partition, new Reach(reach.from(), new Pages(pages.from(), next.getAsLong())));
      next = sweepPages(partition, next.getAsLong());
    } while (next.isPresent() && System.nanoTime() - end < 0);
    Instant from = next.isPresent() ? reach.from() : later(reach.from(), pages.from());
    reached.put(
        partition,
        new Reach(from, next.isPresent() ? new Pages(pages.from(), next.getAsLong()) : null));
  }

  private static Instant later(Instant a, Instant b) {
    return a.isAfter(b) ? a : b;
  }

  /** Whether the sweep ended before the timeout. */
  private static boolean succeeds(Runnable sweep) {
    try {
      sweep.run();
      return true;
    } catch (StoreException e) {
      if (!e.isTooMuch()) {
        throw e;
      }
      return false;
    }
  }

  private void sweepWhole(Partition partition) {
    agenda.swept(partition, heads(partition, SWEEP));
  }

  private static final String SWEEP_RECENT =
      """
      /* QueueSweep.sweepRecent */
      SELECT line.lane, head.ready_at
      FROM unnest(?::int[]) AS line (lane)
      CROSS JOIN LATERAL (
          SELECT q.ready_at
          FROM carillon.queue_{partition} q
          WHERE q.lane = line.lane
            AND q.ready_at >= ?
          ORDER BY q.ready_at
          LIMIT 1
      ) head
      """;

  private void sweepRecent(Partition partition, Instant from) {
    List<Lane> lanes = List.copyOf(catalog.lanes());
    agenda.sweptPart(partition, heads(partition, SWEEP_RECENT, Column.ints(lanes, Lane::id), from));
  }

  // Reads the table and not its index: the number of pages limits how long that takes.
  private static final String SWEEP_PAGES =
      """
      /* QueueSweep.sweepPages */
      SELECT lane, min(ready_at) AS ready_at
      FROM carillon.queue_{partition}
      WHERE ctid >= ?::tid
        AND ctid < ?::tid
      GROUP BY lane
      """;

  private static final String PAGES =
      """
      /* QueueSweep.pages */
      SELECT pg_relation_size('carillon.queue_{partition}') / current_setting('block_size')::int AS pages
      """;

  /** Returns the page after those that were read; empty after the last. */
  private OptionalLong sweepPages(Partition partition, long page) {
    long end = page + PAGES_AT_ONCE;
    agenda.sweptPart(
        partition, heads(partition, SWEEP_PAGES, "(" + page + ",0)", "(" + end + ",0)"));
    List<Long> pages =
        read(tx -> tx.query(Sql.forPartition(PAGES, partition), row -> row.getLong("pages")));
    return pages.isEmpty() || end >= pages.getFirst() ? OptionalLong.empty() : OptionalLong.of(end);
  }

  private List<Agenda.Entry> heads(Partition partition, String statement, Object... arguments) {
    return read(
        tx ->
            tx.query(
                Sql.forPartition(statement, partition),
                row ->
                    new Agenda.Entry(
                        partition, row.getInt("lane"), Sql.requiredInstant(row, "ready_at")),
                arguments));
  }

  /** Reads a partition; the result is empty if it was dropped. */
  private <T> List<T> read(Function<Tx, List<T>> query) {
    return Partitions.unlessDropped(() -> db.autoCommit(query));
  }
}
