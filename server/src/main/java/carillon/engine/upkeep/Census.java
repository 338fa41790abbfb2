package carillon.engine.upkeep;

import carillon.model.Partition;
import carillon.store.db.StoreException;
import carillon.store.stats.WaitingCounts;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps how many tasks wait, partition by partition and at its leisure: only partitions that have
 * changed, and after each a rest of a hundred times what it took, so that it never costs more than
 * a hundredth of a core.
 */
final class Census {

  private static final Logger log = LoggerFactory.getLogger(Census.class);
  private static final Duration ROUND = Duration.ofSeconds(2);
  private static final Duration LONGEST_REST = Duration.ofMinutes(15);
  private static final int RESTS = 100; // times what was done

  private final WaitingCounts counts;
  private final InstantSource clock;
  private final LongSupplier nanoTime;

  /** What each partition's number of changes was before it was last counted. */
  private final Map<Partition, Long> counted = new HashMap<>();

  private final Deque<Partition> toCount = new ArrayDeque<>();
  private Map<Partition, Long> changes = Map.of();
  private Instant begunAt;
  private boolean isComplete = true; // nothing of this round was left out

  Census(WaitingCounts counts, InstantSource clock, LongSupplier nanoTime) {
    this.counts = counts;
    this.clock = clock;
    this.nanoTime = nanoTime;
    this.begunAt = clock.instant();
  }

  /** One pass: the next partition of the round under way, or the beginning of another round. */
  Duration countOnce() {
    long start = nanoTime.getAsLong();
    if (toCount.isEmpty()) {
      begin();
    }
    Partition partition = toCount.peek();
    if (partition != null) {
      count(partition);
      toCount.remove();
    }
    if (toCount.isEmpty() && isComplete) {
      counts.done(begunAt);
    }
    Duration rest = Duration.ofNanos((nanoTime.getAsLong() - start) * RESTS);
    if (rest.compareTo(LONGEST_REST) > 0) {
      return LONGEST_REST;
    }
    return toCount.isEmpty() && rest.compareTo(ROUND) < 0 ? ROUND : rest;
  }

  private void begin() {
    begunAt = clock.instant();
    isComplete = true;
    changes = counts.changes();
    if (!counted.keySet().equals(changes.keySet())) {
      counted.keySet().retainAll(changes.keySet());
      counts.forgetOthers(changes.keySet());
    }
    changes.forEach(
        (partition, now) -> {
          if (!now.equals(counted.get(partition))) {
            toCount.add(partition);
          }
        });
  }

  private void count(Partition partition) {
    try {
      counts.keep(partition, counts.count(partition));
      counted.put(partition, changes.getOrDefault(partition, 0L));
    } catch (StoreException e) {
      if (e.isStaleTerm() || (e.isUnavailable() && !e.isTooMuch())) {
        throw e;
      }
      // Dropped meanwhile, or too much to count in time: what was known of it stays.
      isComplete = false;
      log.debug("not counted partition={} error={}", partition.suffix(), e.toString());
    }
  }
}
