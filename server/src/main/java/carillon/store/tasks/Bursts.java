package carillon.store.tasks;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Spreads tasks with the same due time over the microseconds of a millisecond, so that a cursor can
 * stop inside a burst. A run of consecutive tasks gets the same offset, so its rows are adjacent in
 * every index and a claim of the burst finds many of them on a page. A task that is not part of a
 * burst gets offset 0.
 */
final class Bursts {

  /** How many consecutive tasks get the same offset. */
  static final int RUN_LENGTH = 256;

  /** The microseconds of a millisecond; then the offsets start again from 0. */
  static final int OFFSETS = 1_000;

  private static final int BITS = 10;
  private static final int COUNT_BITS = 18;
  private static final long COUNT = (1L << COUNT_BITS) - 1;

  /**
   * A hash table of approximate task counts. A cell holds the low bits of an instant in
   * microseconds and the number of tasks due then. Instants that share a cell compete for it, and
   * the most frequent one wins: each of the others decrements the count and takes over the cell
   * when it is zero.
   */
  private final AtomicLongArray cells = new AtomicLongArray(1 << BITS);

  /** The offset in microseconds for the next task with this due time. */
  int next(Instant dueAt) {
    long micros = ChronoUnit.MICROS.between(Instant.EPOCH, dueAt);
    long instant = micros << COUNT_BITS;
    int cell = (int) ((micros * 0x9E37_79B9_7F4A_7C15L) >>> (Long.SIZE - BITS));
    long now = cells.updateAndGet(cell, known -> withOneMore(known, instant));
    return isOf(now, instant) ? count(now) / RUN_LENGTH : 0;
  }

  private static long withOneMore(long cell, long instant) {
    int count = count(cell);
    if (isOf(cell, instant)) {
      return instant | ((count + 1) % (RUN_LENGTH * OFFSETS));
    }
    return count > 0 ? cell - 1 : instant;
  }

  private static boolean isOf(long cell, long instant) {
    return (cell & ~COUNT) == instant;
  }

  private static int count(long cell) {
    return (int) (cell & COUNT);
  }
}
