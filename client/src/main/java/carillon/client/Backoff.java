package carillon.client;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** How long to wait before a call is repeated: longer each time, and never all at once. */
final class Backoff {

  private static final Duration FIRST = Duration.ofMillis(100);

  private final Duration most;
  private Duration next = FIRST;

  Backoff(Duration most) {
    this.most = most;
  }

  /** The next pause, not shorter than what the server asked for. */
  Duration next(CarillonException why) {
    return longer(next(), why.retryAfter().orElse(Duration.ZERO));
  }

  Duration next() {
    long half = next.toMillis() / 2;
    next = next.multipliedBy(2).compareTo(most) < 0 ? next.multipliedBy(2) : most;
    return Duration.ofMillis(half + ThreadLocalRandom.current().nextLong(half + 1));
  }

  /** A call succeeded. */
  void reset() {
    next = FIRST;
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) > 0 ? a : b;
  }
}
