package carillon.store;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/**
 * The database's clock, as well as this node knows it. The database decides what is due; this only
 * says when to ask, and stamps what is created here.
 */
public final class DbClock implements InstantSource {

  private static final String NOW =
      """
      /* DbClock.measure */
      SELECT clock_timestamp() AS now
      """;

  private final InstantSource local;
  private volatile Duration offset = Duration.ZERO;

  public DbClock(InstantSource local) {
    this.local = local;
  }

  @Override
  public Instant instant() {
    return local.instant().plus(offset);
  }

  /** How far the database's clock is ahead of ours. */
  public Duration offset() {
    return offset;
  }

  /** Asks the database; half of the time that the question took is the error. */
  public void measure(Db db) {
    db.inTransaction(
        tx -> {
          tx.query(NOW, row -> true); // the first answer also pays for the connection
          Instant asked = local.instant();
          Instant now = tx.query(NOW, row -> Sql.requiredInstant(row, "now")).getFirst();
          Duration trip = Duration.between(asked, local.instant());
          offset = Duration.between(asked.plus(trip.dividedBy(2)), now);
          return offset;
        });
  }
}
