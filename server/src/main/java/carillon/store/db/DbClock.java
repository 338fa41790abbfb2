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

  /** After a round trip that took longer than this, the database is too slow for another one. */
  private static final Duration GOOD_TRIP = Duration.ofMillis(20);

  /** Two clocks that are kept in sync over the network differ by 100 µs more each second. */
  private static final long DRIFT = 10_000;

  /** The error of a clock that was never measured. */
  private static final Duration UNMEASURED = Duration.ofDays(1);

  /** The shortest of this many round trips is used, because any of them may be delayed. */
  private static final int TRIPS = 5;

  private static final String NOW =
      """
      /* DbClock.now */
      SELECT clock_timestamp() AS now
      """;

  private final InstantSource local;
  private volatile Anchor anchor;

  /** The last measurement was too slow to say anything, and the clock may have been set. */
  private volatile boolean isDoubtful;

  /**
   * One moment on both clocks.
   *
   * @param error how far the database's clock may have been from {@code at}, either way
   */
  private record Anchor(Instant at, long nanos, Duration error) {

    Instant timeAt(long moment) {
      return at.plusNanos(moment - nanos);
    }

    Duration errorAt(long moment) {
      return error.plusNanos((moment - nanos) / DRIFT);
    }

    /** Whether the database's clock was set, or another database has taken over. */
    boolean contradicts(Anchor earlier) {
      Duration apart = Duration.between(earlier.timeAt(nanos), at).abs();
      return apart.compareTo(error.plus(earlier.errorAt(nanos))) > 0;
    }

    boolean isBetterThan(Anchor earlier) {
      return error.compareTo(earlier.errorAt(nanos)) < 0;
    }
  }

  public DbClock(InstantSource local) {
    this.local = local;
    this.anchor = new Anchor(local.instant(), System.nanoTime(), UNMEASURED);
  }

  @Override
  public Instant instant() {
    return anchor.timeAt(System.nanoTime());
  }

  /**
   * The latest time that the database's clock may show. A time computed from it is not early: on a
   * busy machine a round trip, and so the error, can take 100 ms.
   */
  public Instant latest() {
    Anchor last = anchor;
    long now = System.nanoTime();
    return last.timeAt(now).plus(last.errorAt(now));
  }

  /**
   * Whether it should be measured again soon: a retry may wait noticeably longer than its delay, or
   * start early.
   */
  public boolean isInexact() {
    return isDoubtful || anchor.errorAt(System.nanoTime()).compareTo(GOOD_TRIP.dividedBy(2)) > 0;
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
          Anchor measured = best.anchor();
          boolean isUsed = measured.isBetterThan(anchor) || measured.contradicts(anchor);
          if (isUsed) {
            anchor = measured;
          }
          isDoubtful = !isUsed && !best.isGood();
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

    Anchor anchor() {
      return new Anchor(now, asked + nanos / 2, Duration.ofNanos(nanos / 2));
    }

    boolean isGood() {
      return nanos < GOOD_TRIP.toNanos();
    }
  }
}
