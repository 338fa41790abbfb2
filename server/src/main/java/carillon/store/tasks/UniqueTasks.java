package carillon.store.tasks;

import carillon.store.db.Db;
import carillon.store.db.StoreException;

/** The keys that are held by unique tasks. They are deleted when their window has ended. */
public final class UniqueTasks {

  private final Db db;

  public UniqueTasks(Db db) {
    this.db = db;
  }

  // A live task that outlasts its window is still found by its key.
  private static final String FORGET =
      """
      /* UniqueTasks.forgetOld */
      DELETE FROM carillon.unique_task
      WHERE (tenant, type, key) IN (
          SELECT tenant, type, key
          FROM carillon.unique_task
          WHERE held_until < (SELECT clock_timestamp())
          ORDER BY held_until
          LIMIT ?
      )
        AND held_until < clock_timestamp() -- checked again: a transaction that we waited for may have extended it
      """;

  // A user's transaction may hold a key for any length of time.
  private static final String LIMIT_LOCK_WAIT =
      """
      /* UniqueTasks.limitLockWait */
      SET LOCAL lock_timeout = '1s'
      """;

  /** Deletes keys whose window has ended, and returns how many. */
  public int forgetOld(int limit) {
    try {
      return db.tryTransaction(
          tx -> {
            tx.update(LIMIT_LOCK_WAIT);
            return tx.update(FORGET, limit);
          });
    } catch (StoreException e) {
      if (e.isBusy()) {
        return 0; // next time
      }
      throw e;
    }
  }
}
