package carillon.api;

import carillon.store.Db;
import carillon.store.Tx;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Lets only so many requests use the database at once. Who would have to wait longer than a second
 * is told to come back: a queue of waiting requests only makes everybody late.
 */
final class DatabaseGate {

  /**
   * Requests that wait for a common commit hold no connection, only their task; these many fit into
   * memory.
   */
  private static final int WAITING_CREATES = 1024;

  /** Batches are held in memory while they are read and written: all of them together this much. */
  private static final int BATCH_KIB = Limits.BATCH_BYTES >> 10;

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  /** A batch takes a while, and sending it again would cost more than waiting. */
  private static final Duration BATCH_PATIENCE = Duration.ofSeconds(10);

  private final Db db;
  private final Semaphore permits;
  private final Semaphore creates = new Semaphore(WAITING_CREATES);
  private final Semaphore batchKib = new Semaphore(BATCH_KIB, true);

  DatabaseGate(Db db, int permits) {
    this.db = db;
    this.permits = new Semaphore(permits);
  }

  <T> T use(Supplier<T> work) {
    return holding(permits, 1, PATIENCE, work);
  }

  <T> T inTransaction(Function<Tx, T> work) {
    return use(() -> db.inTransaction(work));
  }

  /**
   * For work that is committed together with that of other requests and takes no connection of its
   * own.
   */
  <T> T together(Supplier<T> work) {
    return holding(creates, 1, PATIENCE, work);
  }

  /** For work that holds a body of this length; one of unknown length may be as long as any. */
  <T> T withBatch(long bytes, Supplier<T> work) {
    int kib = bytes < 0 || bytes > Limits.BATCH_BYTES ? BATCH_KIB : (int) (bytes >> 10) + 1;
    return holding(batchKib, Math.min(kib, BATCH_KIB), BATCH_PATIENCE, work);
  }

  private static <T> T holding(
      Semaphore semaphore, int permits, Duration patience, Supplier<T> work) {
    try {
      if (!semaphore.tryAcquire(permits, patience.toMillis(), TimeUnit.MILLISECONDS)) {
        throw overloaded();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw overloaded();
    }
    try {
      return work.get();
    } finally {
      semaphore.release(permits);
    }
  }

  static ApiException overloaded() {
    return new ApiException(ErrorCode.OVERLOADED, "too many requests at once")
        .with("Retry-After", "1");
  }
}
