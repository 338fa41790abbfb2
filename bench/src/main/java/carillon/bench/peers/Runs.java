package carillon.bench.peers;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** What the handlers of a process have done. */
final class Runs {

  private final AtomicLong finished = new AtomicLong();
  private final AtomicInteger next = new AtomicInteger();
  private volatile long[] lateMicros = new long[0];
  private volatile Instant earliest = Instant.EPOCH;

  /** A handler ran just now. */
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

  /** Starts a new round with this many jobs, the earliest of them due then. */
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

  /** How late the expected jobs started, sorted, in milliseconds. */
  double[] lateMillis() {
    long[] all = lateMicros;
    return Arrays.stream(all, 0, Math.min(next.get(), all.length))
        .sorted()
        .mapToDouble(micros -> micros / 1e3)
        .toArray();
  }

  /** When the first of them ended, in milliseconds after the earliest was due. */
  double firstMillis() {
    return first.get() / 1e3;
  }

  double lastMillis() {
    return last.get() / 1e3;
  }
}
