package carillon.engine;

import carillon.store.db.DbClock;
import carillon.store.queue.QueueSweep;
import java.time.Duration;

/** Finds waiting tasks without hints: tasks of other nodes, and all tasks after a restart. */
final class Sweeper {

  private static final Duration INTERVAL = Duration.ofSeconds(1);

  /** How far ahead partitions are read, so that tasks due at midnight are known before midnight. */
  private static final Duration AHEAD = Duration.ofSeconds(5);

  /**
   * A sweep steps over the index entries of tasks claimed since the last one, and over all old
   * entries while a transaction holds an old snapshot. Sweeping gets a fiftieth of the time.
   */
  private static final int REST_FACTOR = 50;

  /** The longest that a task without a hint waits to be found. */
  private static final Duration MAX_INTERVAL = Duration.ofSeconds(20);

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
    long rest = sweep.multipliedBy(REST_FACTOR).toNanos();
    return Duration.ofNanos(Math.clamp(rest, INTERVAL.toNanos(), MAX_INTERVAL.toNanos()));
  }
}
