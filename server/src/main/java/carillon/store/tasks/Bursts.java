package carillon.store.tasks;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Places for tasks that are due at one instant: a burst must not be one key that no cursor can
 * divide. So many in a row share a place, and lie side by side in every index, so that whoever
 * claims a burst finds many rows on a page instead of one. Who is alone has the first place.
 */
final class Bursts {

  static final int TOGETHER = 256;

  /** One for each microsecond of a millisecond; then they begin anew. */
  static final int PLACES = 1_000;

  private static final int BITS = 10;
  private static final int COUNT_BITS = 18;
  private static final long COUNT = (1L << COUNT_BITS) - 1;

  /**
   * Of some instants how many tasks there were, beside the lowest bits of their microseconds. Many
   * instants share a cell: it is the one's that comes most often, because each of the others takes
   * one off its count and gets the cell only at zero.
   */
  private final AtomicLongArray cells = new AtomicLongArray(1 << BITS);

  /** The place of another task that is due then. */
  int next(Instant dueAt) {
    long micros = ChronoUnit.MICROS.between(Instant.EPOCH, dueAt);
    long instant = micros << COUNT_BITS;
    int cell = (int) ((micros * 0x9E37_79B9_7F4A_7C15L) >>> (Long.SIZE - BITS));
    long now = cells.updateAndGet(cell, known -> withOneMore(known, instant));
    return isOf(now, instant) ? count(now) / TOGETHER : 0;
  }

  private static long withOneMore(long cell, long instant) {
    int count = count(cell);
    if (isOf(cell, instant)) {
      return instant | ((count + 1) % (TOGETHER * PLACES));
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
