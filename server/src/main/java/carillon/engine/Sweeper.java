package carillon.engine;

import carillon.store.db.DbClock;
import carillon.store.queue.QueueSweep;
import java.time.Duration;

/** Finds what waits without anybody having said so: from other nodes, and after a restart. */
final class Sweeper {

  private static final Duration INTERVAL = Duration.ofSeconds(1);

  /**
   * How far ahead partitions are opened, so that what is due at midnight is known before midnight.
   */
  private static final Duration AHEAD = Duration.ofSeconds(5);

  /**
   * A sweep steps over what was claimed since the last one, and over everything while somebody
   * holds an old snapshot; it gets a fiftieth of the time.
   */
  private static final int SHARE = 50;

  /** What nobody said waits no longer than that, whatever a sweep takes. */
  private static final Duration LONGEST = Duration.ofSeconds(20);

  private final QueueSweep sweep;
  private final DbClock clock;

  Sweeper(QueueSweep sweep, DbClock clock) {
    this.sweep = sweep;
    this.clock = clock;
  }

  /** One pass. */
  Duration sweepOnce() {
    long began = System.nanoTime();
    sweep.sweepAfter(Duration.ZERO, clock.instant().plus(AHEAD));
    return restAfter(Duration.ofNanos(System.nanoTime() - began));
  }

  static Duration restAfter(Duration sweep) {
    long share = sweep.multipliedBy(SHARE).toNanos();
    return Duration.ofNanos(Math.clamp(share, INTERVAL.toNanos(), LONGEST.toNanos()));
  }
}
