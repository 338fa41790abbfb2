package carillon.model.task;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A histogram of start delays. Each bucket counts delays up to its bound, and the last one counts
 * all longer delays.
 */
public final class Lateness {

  /** The upper bounds of all buckets but the last. */
  public static final List<Duration> BOUNDS =
      LongStream.of(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000)
          .mapToObj(Duration::ofMillis)
          .toList();

  public static final int BUCKETS = 15; // one for each bound, and one beyond

  private static final long[] NANOS = BOUNDS.stream().mapToLong(Duration::toNanos).toArray();

  private Lateness() {}

  /** The bucket of a task that was ready at one time and started at another. */
  public static int bucket(Instant ready, Instant started) {
    long seconds = started.getEpochSecond() - ready.getEpochSecond();
    if (seconds > 60) { // far from any overflow below
      return BUCKETS - 1;
    }
    long nanos = seconds * 1_000_000_000L + started.getNano() - ready.getNano();
    int bucket = 0;
    while (bucket < NANOS.length && nanos > NANOS[bucket]) {
      bucket++;
    }
    return bucket;
  }

  /**
   * The start delay at a percentile, rounded up to the bound of its bucket; null if the histogram
   * is empty. In the last bucket it is the largest bound, and the true delay is longer.
   *
   * @param share from 0 to 1
   */
  public static @Nullable Duration percentile(long[] buckets, double share) {
    long all = LongStream.of(buckets).sum();
    if (all == 0) {
      return null;
    }
    long wanted = Math.max(1, (long) Math.ceil(all * share));
    int bucket = 0;
    for (long seen = buckets[0]; seen < wanted; seen += buckets[bucket]) {
      bucket++;
    }
    return BOUNDS.get(Math.min(bucket, BOUNDS.size() - 1));
  }
}
