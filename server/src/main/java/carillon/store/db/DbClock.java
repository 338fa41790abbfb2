package carillon.store.db;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/**
 * The database's clock, as well as this node knows it. The database decides what is due; this clock
 * only decides when to claim, and stamps new tasks. Between two measurements it follows the
 * monotonic clock, so that a step of the node's own wall clock changes nothing.
 */
public final class DbClock implements InstantSource {

  /** A response that took much longer than this is too inexact. */
  private static final Duration GOOD_TRIP = Duration.ofMillis(20);

  /** A bad measurement is better than one that is older than this. */
  private static final Duration TOO_OLD = Duration.ofMinutes(1);

  /** The shortest of this many round trips is used, because any of them may be delayed. */
  private static final int TRIPS = 5;

  private static final String NOW =
      """
      /* DbClock.now */
      SELECT clock_timestamp() AS now
      """;

  private final InstantSource local;
  private volatile Anchor anchor;

  /** One moment on both clocks. */
  private record Anchor(Instant at, long nanos) {
    Instant now() {
      return at.plusNanos(System.nanoTime() - nanos);
    }

    boolean isOld() {
      return System.nanoTime() - nanos > TOO_OLD.toNanos();
    }
  }

  public DbClock(InstantSource local) {
    this.local = local;
    this.anchor = new Anchor(local.instant(), System.nanoTime() - 2 * TOO_OLD.toNanos());
  }

  @Override
  public Instant instant() {
    return anchor.now();
  }

  /** The database's time, read from it and not estimated. */
  public static Instant now(Tx tx) {
    return tx.query(NOW, row -> Sql.requiredInstant(row, "now")).getFirst();
  }

  /** How far the database's clock is ahead of ours. */
  public Duration offset() {
    return Duration.between(local.instant(), instant());
  }

  /** Reads the database's clock; the error is half of the round-trip time. */
  public void measure(Db db) {
    db.autoCommit(
        tx -> {
          tx.query(NOW, row -> true); // warms up the connection
          Trip best = Trip.measure(tx);
          // No further round trips to a slow database: a lease waits to be renewed.
          for (int i = 1; i < TRIPS && best.isGood(); i++) {
            Trip another = Trip.measure(tx);
            best = another.nanos() < best.nanos() ? another : best;
          }
          if (best.isGood() || anchor.isOld()) {
            anchor = new Anchor(best.now(), best.asked() + best.nanos() / 2);
          }
          return best;
        });
  }

  /** A round trip. */
  private record Trip(long asked, Instant now, long nanos) {

    static Trip measure(Tx tx) {
      long asked = System.nanoTime();
      Instant now = DbClock.now(tx);
      return new Trip(asked, now, System.nanoTime() - asked);
    }

    boolean isGood() {
      return nanos < GOOD_TRIP.toNanos();
    }
  }
}
