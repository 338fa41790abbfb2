package carillon.engine;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Lanes of other nodes in which something waits that cannot be taken, say for a key: who looked in
 * vain looks again later and later. Of one thread at a time.
 */
final class LeftAlone {

  private static final Duration FIRST = Duration.ofSeconds(2);
  private static final Duration LONGEST = Duration.ofSeconds(30);

  /** Then all are forgotten: each costs a look. */
  private static final int MOST = 10_000;

  private final LongSupplier nanoTime;
  private final Map<Integer, Pause> pauses = new HashMap<>();

  private record Pause(long until, Duration length) {

    Pause next(long now) {
      boolean isLongAgo = now - until > LONGEST.toNanos();
      Duration twice = length.multipliedBy(2);
      return isLongAgo ? of(now, FIRST) : of(now, twice.compareTo(LONGEST) < 0 ? twice : LONGEST);
    }

    static Pause of(long now, Duration length) {
      return new Pause(now + length.toNanos(), length);
    }
  }

  LeftAlone(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** Something was taken from the lane. */
  void gave(int lane) {
    pauses.remove(lane);
  }

  /** Something should have waited in the lane, and there was nothing to take. */
  void gaveNothing(int lane) {
    long now = nanoTime.getAsLong();
    if (pauses.size() >= MOST) {
      pauses.clear();
    }
    pauses.compute(lane, (_, last) -> last == null ? Pause.of(now, FIRST) : last.next(now));
  }

  boolean isSo(int lane) {
    Pause pause = pauses.get(lane);
    return pause != null && nanoTime.getAsLong() - pause.until() < 0;
  }
}
