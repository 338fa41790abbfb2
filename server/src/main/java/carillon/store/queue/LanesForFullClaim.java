package carillon.store.queue;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The lanes in which a claim has recently found tasks that only the full form of the claim can
 * decide about (a concurrency key, a suspect, a large payload). Other lanes get the plain form,
 * which leaves such tasks in the queue and returns their lanes.
 */
final class LanesForFullClaim {

  /** Long enough that a lane with such tasks hardly ever pays for both claims. */
  private static final Duration REMEMBERED = Duration.ofSeconds(30);

  private final LongSupplier nanoTime;
  private final Map<Integer, Long> since = new ConcurrentHashMap<>();

  LanesForFullClaim(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  void add(int lane) {
    since.put(lane, nanoTime.getAsLong());
  }

  boolean has(int lane) {
    @Nullable Long found = since.get(lane);
    if (found == null) {
      return false;
    }
    if (nanoTime.getAsLong() - found < REMEMBERED.toNanos()) {
      return true;
    }
    since.remove(lane, found);
    return false;
  }
}
