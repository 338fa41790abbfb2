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
 * Limits how many requests use the database at once. A request that would wait longer than a second
 * gets 503 with Retry-After: queueing would only make every request slow.
 */
public final class DatabaseGate {

  /**
   * Requests that wait for a common commit hold no connection, only their task; this many fit into
   * memory.
   */
  private static final int WAITING_CREATES = 1024;

  private static final Duration MAX_WAIT = Duration.ofSeconds(1);

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
   * Runs work that is committed together with that of other requests and takes no connection of its
   * own.
   */
  public <T> T sharingCommit(Supplier<T> work) {
    return holding(creates, work);
  }

  /** Runs work that a semaphore limits, under the same rule as the database. */
  public static <T> T holding(Semaphore semaphore, Supplier<T> work) {
    if (!tryAcquire(semaphore)) {
      throw overloaded();
    }
    try {
      return work.get();
    } finally {
      semaphore.release();
    }
  }

  /**
   * Runs work that uses the database, one caller at a time.
   *
   * @param turn a fair semaphore with one permit
   * @return false if the turn or the database was not free within the time that requests wait
   */
  public boolean tryExclusively(Semaphore turn, Runnable work) {
    if (!tryAcquire(turn)) {
      return false;
    }
    try {
      if (!tryAcquire(permits)) {
        return false;
      }
      try {
        work.run();
        return true;
      } finally {
        permits.release();
      }
    } finally {
      turn.release();
    }
  }

  private static boolean tryAcquire(Semaphore semaphore) {
    try {
      return semaphore.tryAcquire(MAX_WAIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  public static ApiException overloaded() {
    return new ApiException(ErrorCode.OVERLOADED, "too many requests at once")
        .with("Retry-After", "1");
  }
}
