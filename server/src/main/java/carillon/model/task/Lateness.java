package carillon.model.task;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * How late tasks start, in a few buckets: each holds what is at most its bound, the last all else.
 */
public final class Lateness {

  /** What the buckets reach to. */
  public static final List<Duration> BOUNDS =
      LongStream.of(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000)
          .mapToObj(Duration::ofMillis)
          .toList();

  public static final int BUCKETS = 15; // one for each bound, and one beyond

  private static final long[] NANOS = BOUNDS.stream().mapToLong(Duration::toNanos).toArray();

  private Lateness() {}

  /** The bucket of a task that could have started at one time and did at another. */
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
   * How late the given share of tasks was at most, as the bound of a bucket; null if there were
   * none. For what is beyond the last bound it is that bound: at least so late.
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
