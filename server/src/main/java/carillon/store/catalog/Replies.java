package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.store.db.Db;
import carillon.store.db.StoreException;
import carillon.store.db.Tx;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Responses to requests with an idempotency key, stored for 24 hours so that a repeated request
 * gets the same response and changes nothing.
 */
public final class Replies {

  private static final Duration KEPT = Duration.ofHours(24);

  private final Db db;

  public Replies(Db db) {
    this.db = db;
  }

  /** A stored response. */
  public record Reply(int status, @Nullable String location, String body) {}

  /** The result of a request with an idempotency key. */
  public sealed interface Result {
    /** Done now, or the stored response of an earlier request. */
    record Answered(Reply reply, boolean repeated) implements Result {}

    /** The key was used before, for another request. */
    record Mismatch() implements Result {}

    /** The first request with this key has not ended yet. */
    record Pending() implements Result {}

    /** The work has no response yet and wrote nothing. */
    record Nothing() implements Result {}
  }

  /** Rolls the transaction back and returns this response. */
  private static final class RolledBack extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final transient Result result;

    RolledBack(Result result) {
      super(null, null, false, false);
      this.result = result;
    }
  }

  /**
   * Runs the work and stores its response in one transaction, unless the key was used before. If
   * the response is not a success or there is none, the work is rolled back and nothing is stored.
   */
  public Result once(
      TenantId tenant, String key, byte[] fingerprint, Function<Tx, Optional<Reply>> work) {
    try {
      return db.inTransaction(
          tx ->
              isFirst(tx, tenant, key, fingerprint)
                  ? answer(tx, tenant, key, work)
                  : repeat(tx, tenant, key, fingerprint));
    } catch (RolledBack e) {
      return e.result;
    }
  }

  /**
   * The result of an earlier request with the key; empty if there was none or it is still running.
   * For work that has to prepare something before its transaction.
   */
  public Optional<Result> earlier(TenantId tenant, String key, byte[] fingerprint) {
    return db.autoCommit(tx -> find(tx, tenant, key, fingerprint));
  }

  private static final String TAKE_KEY =
      """
      /* Replies.isFirst */
      INSERT INTO carillon.reply (tenant, key, fingerprint)
      VALUES (?, ?, ?)
      ON CONFLICT (tenant, key) DO UPDATE -- waits here for a first request that is still running
      SET fingerprint = excluded.fingerprint, status = 0, location = NULL, body = NULL,
          created_at = clock_timestamp()
      WHERE reply.created_at < clock_timestamp() - make_interval(secs => ?)
      """;

  private static boolean isFirst(Tx tx, TenantId tenant, String key, byte[] fingerprint) {
    try {
      return tx.update(TAKE_KEY, tenant, key, fingerprint, KEPT.toSeconds()) == 1;
    } catch (StoreException e) {
      if (e.isBusy()) {
        throw new RolledBack(new Result.Pending());
      }
      throw e;
    }
  }

  private static final String KEEP =
      """
      /* Replies.answer */
      UPDATE carillon.reply
      SET status = ?, location = ?, body = ?
      WHERE tenant = ?
        AND key = ?
      """;

  private static Result answer(
      Tx tx, TenantId tenant, String key, Function<Tx, Optional<Reply>> work) {
    Reply reply = work.apply(tx).orElseThrow(() -> new RolledBack(new Result.Nothing()));
    Result answered = new Result.Answered(reply, false);
    if (reply.status() >= 300) {
      throw new RolledBack(answered);
    }
    tx.update(KEEP, reply.status(), reply.location(), reply.body(), tenant, key);
    return answered;
  }

  private static final String FIND =
      """
      /* Replies.repeat */
      SELECT fingerprint = ? AS same, status, location, body
      FROM carillon.reply
      WHERE tenant = ?
        AND key = ?
        AND created_at >= clock_timestamp() - make_interval(secs => ?)
      """;

  private static Result repeat(Tx tx, TenantId tenant, String key, byte[] fingerprint) {
    return find(tx, tenant, key, fingerprint).orElseGet(Result.Pending::new);
  }

  private static Optional<Result> find(Tx tx, TenantId tenant, String key, byte[] fingerprint) {
    return tx.queryOne(
        FIND,
        row ->
            row.getBoolean("same")
                ? new Result.Answered(
                    new Reply(
                        row.getInt("status"), row.getString("location"), row.getString("body")),
                    true)
                : new Result.Mismatch(),
        fingerprint,
        tenant,
        key,
        KEPT.toSeconds());
  }

  private static final String FORGET =
      """
      /* Replies.forgetOld */
      DELETE FROM carillon.reply
      WHERE (tenant, key) IN (
          SELECT tenant, key
          FROM carillon.reply
          WHERE created_at < (SELECT clock_timestamp()) - make_interval(secs => ?)
          ORDER BY created_at
          LIMIT ?
      )
        -- Checked again after the wait: the other request may have just reused the key.
        AND created_at < clock_timestamp() - make_interval(secs => ?)
      """;

  /** Deletes responses that are too old to be repeated; returns how many. */
  public int forgetOld(int limit) {
    return db.inTransaction(tx -> tx.update(FORGET, KEPT.toSeconds(), limit, KEPT.toSeconds()));
  }
}
