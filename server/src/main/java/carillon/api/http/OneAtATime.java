package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Lets one look into the database at a time for all who ask. Who would have to wait longer than a
 * second is told what was seen last: a slow look of one must not be everybody's.
 */
public final class OneAtATime {

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final DatabaseGate database;
  private final ReentrantLock looking = new ReentrantLock(true); // who looks often lets others in

  public OneAtATime(DatabaseGate database) {
    this.database = database;
  }

  /**
   * Looks when it is our turn.
   *
   * @param last what to say instead; if that is nothing either, the caller is told to come back
   */
  public <T> T look(Supplier<T> look, Supplier<Optional<T>> last) {
    try {
      if (!looking.tryLock(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
        return last.get().orElseThrow(DatabaseGate::overloaded);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw DatabaseGate.overloaded();
    }
    try {
      return database.use(look);
    } catch (ApiException e) {
      if (e.code() != ErrorCode.OVERLOADED) {
        throw e;
      }
      return last.get().orElseThrow(() -> e);
    } finally {
      looking.unlock();
    }
  }
}
