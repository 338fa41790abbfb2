package carillon.api;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The memory for the bodies of all requests at once. A request takes its share before it reads, so
 * that however many come, and however large they are, they fit.
 */
final class BodyMemory {

  private static final int ALL_KIB = Limits.BATCH_BYTES >> 10;

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  /** A batch takes a while, and sending it again would cost more than waiting. */
  private static final Duration BATCH_PATIENCE = Duration.ofSeconds(10);

  // Fair, or a large one would wait for ever behind small ones.
  private final Semaphore kib = new Semaphore(ALL_KIB, true);

  /**
   * Takes the share of one body.
   *
   * @param length -1 if not known: then it may be as long as any
   * @param limit what is longer is refused when it is read
   * @return what to give back
   */
  int take(long length, int limit) throws InterruptedException {
    long bytes = length < 0 || length > limit ? limit : length;
    int share = (int) Math.min(ALL_KIB, (bytes >> 10) + 1);
    Duration patience = bytes > Limits.BODY_BYTES ? BATCH_PATIENCE : PATIENCE;
    if (!kib.tryAcquire(share, patience.toMillis(), TimeUnit.MILLISECONDS)) {
      throw DatabaseGate.overloaded();
    }
    return share;
  }

  void giveBack(int share) {
    kib.release(share);
  }
}
