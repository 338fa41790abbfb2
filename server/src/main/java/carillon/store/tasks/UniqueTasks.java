package carillon.store.tasks;

import carillon.store.db.Db;
import carillon.store.db.StoreException;

/** The keys that tasks asked for as unique have held; forgotten once their time is over. */
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
        AND held_until < clock_timestamp() -- again, for who was waited for: it may hold the key longer now
      """;

  // A user's transaction may hold a key for as long as it likes.
  private static final String NO_WAITING =
      """
      /* UniqueTasks.noWaiting */
      SET LOCAL lock_timeout = '1s'
      """;

  /** Removes keys whose window is over; says how many. */
  public int forgetOld(int limit) {
    try {
      return db.tryTransaction(
          tx -> {
            tx.update(NO_WAITING);
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
