package carillon.store.db;

import carillon.model.cluster.Term;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A statement failed. Names the statement, and tells whether a retry may work later. */
public final class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /** In the class of SQL states that PostgreSQL leaves to applications. */
  private static final String STALE_TERM = "CT001";

  private final @Nullable String sqlState;

  public StoreException(String message, @Nullable String sqlState, @Nullable Throwable cause) {
    super(message, cause);
    this.sqlState = sqlState;
  }

  public StoreException(String message) {
    this(message, null, null);
  }

  static StoreException staleTerm(Optional<Term> term) {
    return new StoreException(
        term.map(t -> "the term " + t.number() + " of " + t.node() + " is over")
            .orElse("this node does not lead"),
        STALE_TERM,
        null);
  }

  /** It was the leader's to do, and this node does not lead any more: nothing was written. */
  public boolean isStaleTerm() {
    return STALE_TERM.equals(sqlState);
  }

  /**
   * The connection was lost, refused or timed out: whether the statement took effect is not known.
   */
  public boolean isUnavailable() {
    return sqlState != null
        && (sqlState.startsWith("08")
            || sqlState.startsWith("53") // out of connections, disk or memory
            || sqlState.startsWith("57") // shut down, cancelled by a timeout
            || sqlState.startsWith("58")
            || sqlState.startsWith("25")); // read-only after a failover, idle in transaction
  }

  /** It took too long or too much memory: less at once may work. */
  public boolean isTooMuch() {
    return "57014".equals(sqlState) // statement timeout
        || "25P03".equals(sqlState) // idle in transaction
        || "53200".equals(sqlState); // out of memory
  }

  /** Another transaction was in the way, and still was after several tries. */
  public boolean isBusy() {
    return isTransient(sqlState);
  }

  /**
   * A table of the statement does not exist: usually one of a partition that was dropped after the
   * partitions were listed.
   */
  public boolean isGone() {
    return "42P01".equals(sqlState);
  }

  /** The connection broke, or the server was stopped or is the primary no more. */
  boolean isLostConnection() {
    return isLostConnection(sqlState) || isReadOnly();
  }

  static boolean isLostConnection(@Nullable String sqlState) {
    return sqlState != null && (sqlState.startsWith("08") || sqlState.startsWith("57P"));
  }

  /** The server takes no writes: it is a standby by now. */
  boolean isReadOnly() {
    return "25006".equals(sqlState);
  }

  /**
   * Serialization failure, deadlock, lock timeout: the transaction did nothing and may simply run
   * again.
   */
  static boolean isTransient(@Nullable String sqlState) {
    return "40001".equals(sqlState) || "40P01".equals(sqlState) || "55P03".equals(sqlState);
  }
}
