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
 * Makes partitions ahead, drops those that nobody needs any more, and forgets what is too old.
 * Harmless on several nodes.
 */
public final class Janitor {

  private static final Logger log = LoggerFactory.getLogger(Janitor.class);
  private static final Duration INTERVAL = Duration.ofMinutes(1);
  private static final int DAYS_AHEAD = 7;
  private static final int MAX_FORGOTTEN = 5_000;

  private final Partitions partitions;
  private final Litter litter;
  private final DbClock clock;
  private final Duration retention;

  /** What grows old and is forgotten. */
  public record Litter(
      Replies replies,
      UniqueTasks uniqueTasks,
      DeadLetters deadLetters,
      Redrives redrives,
      Backfills backfills,
      FireRetention fires,
      Activity activity,
      Events events) {}

  public Janitor(Partitions partitions, Litter litter, DbClock clock, Duration retention) {
    this.partitions = partitions;
    this.litter = litter;
    this.clock = clock;
    this.retention = retention;
  }

  /** One pass, in bounded batches. Returns zero if there is more to forget. */
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
      log.info("dropped partitions={} older than {}", dropped, retention);
    }
    int mostForgotten = 0;
    mostForgotten = Math.max(mostForgotten, litter.replies().forgetOld(MAX_FORGOTTEN));
    mostForgotten = Math.max(mostForgotten, litter.uniqueTasks().forgetOld(MAX_FORGOTTEN));
    mostForgotten = Math.max(mostForgotten, litter.deadLetters().forgetEmptyGroups(MAX_FORGOTTEN));
    mostForgotten = Math.max(mostForgotten, litter.redrives().forgetOld(MAX_FORGOTTEN));
    mostForgotten = Math.max(mostForgotten, litter.backfills().forgetOld(MAX_FORGOTTEN));
    mostForgotten = Math.max(mostForgotten, litter.fires().forgetOld(retention, MAX_FORGOTTEN));
    mostForgotten = Math.max(mostForgotten, litter.fires().forgetDeleted(MAX_FORGOTTEN));
    mostForgotten = Math.max(mostForgotten, litter.activity().forgetOld(MAX_FORGOTTEN));
    mostForgotten = Math.max(mostForgotten, litter.events().forgetOld(MAX_FORGOTTEN));
    return mostForgotten == MAX_FORGOTTEN ? Duration.ZERO : INTERVAL;
  }
}
