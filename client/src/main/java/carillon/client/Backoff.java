package carillon.client;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Exponential backoff with jitter between repeated calls. */
final class Backoff {

  private static final Duration FIRST = Duration.ofMillis(100);

  private final Duration max;
  private Duration next = FIRST;

  Backoff(Duration max) {
    this.max = max;
  }

  /** The next pause, at least as long as the server's Retry-After. */
  Duration next(CarillonException why) {
    return longer(next(), why.retryAfter().orElse(Duration.ZERO));
  }

  Duration next() {
    long half = next.toMillis() / 2;
    next = next.multipliedBy(2).compareTo(max) < 0 ? next.multipliedBy(2) : max;
    return Duration.ofMillis(half + ThreadLocalRandom.current().nextLong(half + 1));
  }

  void reset() {
    next = FIRST;
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) > 0 ? a : b;
  }
}
