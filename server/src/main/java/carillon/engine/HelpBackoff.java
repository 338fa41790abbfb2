package carillon.engine;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Backs off from other nodes' lanes whose due tasks cannot be claimed, for example because its
 * concurrency key is taken. Each empty claim doubles the time until such a lane is asked again. Not
 * thread-safe.
 */
final class HelpBackoff {

  private static final Duration FIRST = Duration.ofSeconds(2);
  private static final Duration MAX = Duration.ofSeconds(30);

  /** Beyond this number, all are forgotten: each costs one empty claim. */
  private static final int MAX_LANES = 10_000;

  private final LongSupplier nanoTime;
  private final Map<Integer, Pause> pauses = new HashMap<>();

  private record Pause(long until, Duration length) {

    Pause next(long now) {
      boolean isLongAgo = now - until > MAX.toNanos();
      Duration twice = length.multipliedBy(2);
      return isLongAgo ? of(now, FIRST) : of(now, twice.compareTo(MAX) < 0 ? twice : MAX);
    }

    static Pause of(long now, Duration length) {
      return new Pause(now + length.toNanos(), length);
    }
  }

  HelpBackoff(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** Something was claimed from the lane. */
  void reset(int lane) {
    pauses.remove(lane);
  }

  /** Something should have waited in the lane, and the claim was empty. */
  void extend(int lane) {
    long now = nanoTime.getAsLong();
    if (pauses.size() >= MAX_LANES) {
      pauses.clear();
    }
    pauses.compute(lane, (_, last) -> last == null ? Pause.of(now, FIRST) : last.next(now));
  }

  boolean isActive(int lane) {
    Pause pause = pauses.get(lane);
    return pause != null && nanoTime.getAsLong() - pause.until() < 0;
  }
}
