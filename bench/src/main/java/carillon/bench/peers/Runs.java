package carillon.bench.peers;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Counts the jobs that the handlers of this process have run, and how late. */
final class Runs {

  private final AtomicLong finished = new AtomicLong();
  private final AtomicInteger next = new AtomicInteger();
  private volatile long[] lateMicros = new long[0];
  private volatile Instant earliest = Instant.EPOCH;

  /** Called by each handler. */
  void ran(Instant due) {
    long late = Duration.between(due, Instant.now()).toNanos() / 1000;
    long[] all = lateMicros;
    int index = all.length == 0 ? 0 : next.getAndIncrement();
    if (index < all.length) {
      all[index] = late;
      last.accumulateAndGet(Duration.between(earliest, due).toNanos() / 1000 + late, Math::max);
      first.accumulateAndGet(Duration.between(earliest, due).toNanos() / 1000 + late, Math::min);
    }
    finished.incrementAndGet();
  }

  private final AtomicLong first = new AtomicLong(Long.MAX_VALUE);
  private final AtomicLong last = new AtomicLong(Long.MIN_VALUE);

  /** Starts a new round with this many jobs; {@code due} is the earliest due time. */
  void expect(int jobs, Instant due) {
    earliest = due;
    next.set(0);
    first.set(Long.MAX_VALUE);
    last.set(Long.MIN_VALUE);
    lateMicros = new long[jobs];
  }

  long finished() {
    return finished.get();
  }

  /** Start delays of the jobs of this round, sorted, in milliseconds. */
  double[] lateMillis() {
    long[] all = lateMicros;
    return Arrays.stream(all, 0, Math.min(next.get(), all.length))
        .sorted()
        .mapToDouble(micros -> micros / 1e3)
        .toArray();
  }

  /** When the first job of this round ran, in milliseconds after the earliest due time. */
  double firstMillis() {
    return first.get() / 1e3;
  }

  double lastMillis() {
    return last.get() / 1e3;
  }
}
