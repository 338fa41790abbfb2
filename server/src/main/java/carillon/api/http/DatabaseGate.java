package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.store.db.Db;
import carillon.store.db.Tx;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Lets only so many requests use the database at once. Who would have to wait longer than a second
 * is told to come back: a queue of waiting requests only makes everybody late.
 */
public final class DatabaseGate {

  /**
   * Requests that wait for a common commit hold no connection, only their task; these many fit into
   * memory.
   */
  private static final int WAITING_CREATES = 1024;

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final Db db;
  private final Semaphore permits;
  private final Semaphore creates = new Semaphore(WAITING_CREATES);

  public DatabaseGate(Db db, int permits) {
    this.db = db;
    this.permits = new Semaphore(permits);
  }

  public <T> T use(Supplier<T> work) {
    return holding(permits, work);
  }

  public <T> T inTransaction(Function<Tx, T> work) {
    return use(() -> db.inTransaction(work));
  }

  /**
   * For work that is committed together with that of other requests and takes no connection of its
   * own.
   */
  public <T> T together(Supplier<T> work) {
    return holding(creates, work);
  }

  /** For other work of which there may be only so much at once. */
  public static <T> T holding(Semaphore semaphore, Supplier<T> work) {
    try {
      if (!semaphore.tryAcquire(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
        throw overloaded();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw overloaded();
    }
    try {
      return work.get();
    } finally {
      semaphore.release();
    }
  }

  public static ApiException overloaded() {
    return new ApiException(ErrorCode.OVERLOADED, "too many requests at once")
        .with("Retry-After", "1");
  }
}
