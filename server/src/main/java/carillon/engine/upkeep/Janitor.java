package carillon.engine.upkeep;

import carillon.model.Partition;
import carillon.model.task.DayRange;
import carillon.store.catalog.Partitions;
import carillon.store.catalog.Replies;
import carillon.store.db.DbClock;
import carillon.store.deadletters.DeadLetters;
import carillon.store.deadletters.Redrives;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.FireRetention;
import carillon.store.stats.Activity;
import carillon.store.stats.Events;
import carillon.store.tasks.UniqueTasks;
import java.time.Duration;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates partitions ahead, drops those past retention, and deletes rows that are too old. Safe on
 * several nodes at once.
 */
public final class Janitor {

  private static final Logger log = LoggerFactory.getLogger(Janitor.class);
  private static final Duration INTERVAL = Duration.ofMinutes(1);
  private static final int DAYS_AHEAD = 7;
  private static final int BATCH = 5_000;

  private final Partitions partitions;
  private final Aging aging;
  private final DbClock clock;
  private final Duration retention;

  /** The stores whose old rows are deleted. */
  public record Aging(
      Replies replies,
      UniqueTasks uniqueTasks,
      DeadLetters deadLetters,
      Redrives redrives,
      Backfills backfills,
      FireRetention fires,
      Activity activity,
      Events events) {}

  public Janitor(Partitions partitions, Aging aging, DbClock clock, Duration retention) {
    this.partitions = partitions;
    this.aging = aging;
    this.clock = clock;
    this.retention = retention;
  }

  /** One pass, in bounded batches. Returns zero if there is more to delete. */
  public Duration cleanOnce() {
    Instant now = clock.instant();
    Partition partition = Partition.of(now);
    for (int day = 0; day <= DAYS_AHEAD; day++) {
      partitions.ensure(partition);
      partition = partition.next();
    }
    // For users' transactions, which cannot create partitions: see carillon.enqueue.
    DayRange.quarters(now).forEach(partitions::ensure);
    int dropped = partitions.dropBefore(Partition.of(now.minus(retention)));
    if (dropped > 0) {
      log.info("dropped partitions={} retention={}", dropped, retention);
    }
    int largest = 0;
    largest = Math.max(largest, aging.replies().forgetOld(BATCH));
    largest = Math.max(largest, aging.uniqueTasks().forgetOld(BATCH));
    largest = Math.max(largest, aging.deadLetters().forgetEmptyGroups(BATCH));
    largest = Math.max(largest, aging.redrives().forgetOld(BATCH));
    largest = Math.max(largest, aging.backfills().forgetOld(BATCH));
    largest = Math.max(largest, aging.fires().forgetOld(retention, BATCH));
    largest = Math.max(largest, aging.fires().forgetDeleted(BATCH));
    largest = Math.max(largest, aging.activity().forgetOld(BATCH));
    largest = Math.max(largest, aging.events().forgetOld(BATCH));
    return largest == BATCH ? Duration.ZERO : INTERVAL;
  }
}
