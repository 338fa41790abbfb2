package carillon.store;

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

  /** As many instants are kept apart as are usually handed in at the same time. */
  private static final int BITS = 10;

  private static final int COUNT_BITS = 18;
  private static final long COUNT = (1L << COUNT_BITS) - 1;

  /**
   * Of each instant how many tasks there were, beside the lowest bits of its microseconds. Two
   * instants that meet here drive each other out, which costs them a good place and no more.
   */
  private final AtomicLongArray counts = new AtomicLongArray(1 << BITS);

  /** The place of another task that is due then. */
  int next(Instant dueAt) {
    long micros = ChronoUnit.MICROS.between(Instant.EPOCH, dueAt);
    int cell = (int) ((micros * 0x9E37_79B9_7F4A_7C15L) >>> (Long.SIZE - BITS));
    long instant = micros << COUNT_BITS;
    long now =
        counts.updateAndGet(
            cell,
            known -> {
              boolean isSame = (known & ~COUNT) == instant;
              return isSame ? instant | ((known & COUNT) + 1) % (TOGETHER * PLACES) : instant;
            });
    return (int) ((now & COUNT) / TOGETHER);
  }
}
