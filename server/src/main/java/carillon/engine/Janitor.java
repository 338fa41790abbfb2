package carillon.engine;

import carillon.model.Slot;
import carillon.store.DbClock;
import carillon.store.DeadLetters;
import carillon.store.Redrives;
import carillon.store.Replies;
import carillon.store.Slots;
import carillon.store.UniqueTasks;
import java.time.Duration;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes slots ahead, drops those that nobody needs any more, and forgets what is too old. Harmless
 * on several nodes.
 */
final class Janitor {

  private static final Logger log = LoggerFactory.getLogger(Janitor.class);
  private static final Duration INTERVAL = Duration.ofMinutes(1);
  private static final int DAYS_AHEAD = 7;
  private static final int MAX_FORGOTTEN = 5_000;

  private final Slots slots;
  private final Replies replies;
  private final UniqueTasks uniqueTasks;
  private final DeadLetters deadLetters;
  private final Redrives redrives;
  private final DbClock clock;
  private final Duration retention;

  Janitor(
      Slots slots,
      Replies replies,
      UniqueTasks uniqueTasks,
      DeadLetters deadLetters,
      Redrives redrives,
      DbClock clock,
      Duration retention) {
    this.slots = slots;
    this.replies = replies;
    this.uniqueTasks = uniqueTasks;
    this.deadLetters = deadLetters;
    this.redrives = redrives;
    this.clock = clock;
    this.retention = retention;
  }

  /** One pass, in bounded batches. Returns zero if there is more to forget. */
  Duration cleanOnce() {
    Instant now = clock.instant();
    Slot slot = Slot.of(now);
    for (int day = 0; day <= DAYS_AHEAD; day++) {
      slots.ensure(slot);
      slot = slot.next();
    }
    int dropped = slots.dropBefore(Slot.of(now.minus(retention)));
    if (dropped > 0) {
      log.info("dropped slots={} older than {}", dropped, retention);
    }
    boolean moreReplies = replies.forgetOld(MAX_FORGOTTEN) == MAX_FORGOTTEN;
    boolean moreKeys = uniqueTasks.forgetOld(MAX_FORGOTTEN) == MAX_FORGOTTEN;
    boolean moreGroups = deadLetters.forgetEmptyGroups(MAX_FORGOTTEN) == MAX_FORGOTTEN;
    boolean moreRedriven = redrives.forgetOld(MAX_FORGOTTEN) == MAX_FORGOTTEN;
    boolean isMore = moreReplies || moreKeys || moreGroups || moreRedriven;
    return isMore ? Duration.ZERO : INTERVAL;
  }
}
