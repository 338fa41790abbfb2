package carillon.api.json;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The turn of one large body to be parsed. Large bodies together use all cores but one.
 *
 * <p>A virtual thread keeps its core until it blocks, and one that parses a batch that has arrived
 * never does: four batches delayed health checks for seconds. {@link Thread#yield} does not help:
 * two batches on a core take turns in that core's own queue, and while it is not empty the core
 * takes no other work, such as a new request.
 */
public final class ParsingTurn {

  /** Smaller bodies are parsed without a turn. */
  private static final int LARGE_BYTES = 256 << 10;

  /** Then it goes ahead anyway: the holder of the turn may wait for memory that this body holds. */
  private static final long MAX_WAIT_MILLIS = 100;

  private static final Semaphore FREE =
      new Semaphore(Math.max(1, Runtime.getRuntime().availableProcessors() - 1), true);

  private long parkAt = LARGE_BYTES;
  private boolean isHeld;

  /**
   * Waits for the turn if the body is large.
   *
   * @param bytes received so far
   */
  public void next(long bytes) {
    if (bytes < LARGE_BYTES) {
      return;
    }
    if (bytes >= parkAt) {
      parkAt = bytes + LARGE_BYTES;
      LockSupport.parkNanos(1); // on a single core nothing else would ever run in between
    }
    try {
      isHeld = FREE.tryAcquire(MAX_WAIT_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  public void end() {
    if (isHeld) {
      isHeld = false;
      FREE.release();
    }
  }
}
