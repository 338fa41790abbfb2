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
 * Counts waiting tasks, one partition per pass: only partitions that have changed, and after each a
 * pause of a hundred times what the count took, so that it never costs more than a hundredth of a
 * core.
 */
final class Census {

  private static final Logger log = LoggerFactory.getLogger(Census.class);
  private static final Duration ROUND_INTERVAL = Duration.ofSeconds(2);
  private static final Duration MAX_PAUSE = Duration.ofMinutes(15);
  private static final int PAUSE_FACTOR = 100;

  private final WaitingCounts counts;
  private final InstantSource clock;
  private final LongSupplier nanoTime;

  /** The number of changes of each partition before its last count. */
  private final Map<Partition, Long> counted = new HashMap<>();

  private final Deque<Partition> toCount = new ArrayDeque<>();
  private Map<Partition, Long> changes = Map.of();
  private Instant begunAt;
  private boolean isComplete = true; // no partition of this round was skipped

  Census(WaitingCounts counts, InstantSource clock, LongSupplier nanoTime) {
    this.counts = counts;
    this.clock = clock;
    this.nanoTime = nanoTime;
    this.begunAt = clock.instant();
  }

  /** One pass: counts the next partition of the current round, or starts another round. */
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
    Duration pause = Duration.ofNanos((nanoTime.getAsLong() - start) * PAUSE_FACTOR);
    if (pause.compareTo(MAX_PAUSE) > 0) {
      return MAX_PAUSE;
    }
    return toCount.isEmpty() && pause.compareTo(ROUND_INTERVAL) < 0 ? ROUND_INTERVAL : pause;
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
      counts.save(partition, counts.count(partition));
      counted.put(partition, changes.getOrDefault(partition, 0L));
    } catch (StoreException e) {
      if (e.isStaleTerm() || (e.isUnavailable() && !e.isTooMuch())) {
        throw e;
      }
      // Dropped meanwhile, or too large to count in time: its last count stays.
      isComplete = false;
      log.debug("skipped count partition={} error={}", partition.suffix(), e.toString());
    }
  }
}
