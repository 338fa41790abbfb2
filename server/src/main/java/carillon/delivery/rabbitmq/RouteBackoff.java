package carillon.delivery.rabbitmq;

import carillon.model.target.Target;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * Pauses routes whose messages were not confirmed in time (a queue without its majority), so that
 * their messages do not occupy the seats of all others again and again.
 */
final class RouteBackoff {

  private static final Duration MIN_PAUSE = Duration.ofSeconds(1);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(30);
  private static final long FORGET_AFTER = Duration.ofSeconds(60).toNanos();

  private record Route(String exchange, String routingKey) {

    static Route of(Target.RabbitMq target) {
      return new Route(target.exchange(), target.routingKey());
    }
  }

  private record Pause(long until, Duration length) {}

  private final Map<Route, Pause> pauses = new ConcurrentHashMap<>();
  private final LongSupplier nanos;

  RouteBackoff(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** Called when a message to this route was not confirmed in time. */
  void onUnconfirmed(Target.RabbitMq target) {
    long now = nanos.getAsLong();
    pauses.compute(
        Route.of(target),
        (_, old) -> {
          if (old != null && old.until() - now > 0) {
            return old; // the same failure, already handled
          }
          Duration length = old == null ? MIN_PAUSE : old.length().multipliedBy(2);
          length = length.compareTo(MAX_PAUSE) > 0 ? MAX_PAUSE : length;
          return new Pause(now + length.toNanos(), length);
        });
  }

  boolean isPaused(Target.RabbitMq target) {
    Pause pause = pauses.isEmpty() ? null : pauses.get(Route.of(target));
    return pause != null && pause.until() - nanos.getAsLong() > 0;
  }

  /** Forgets routes that had no failure lately. */
  void sweep() {
    long now = nanos.getAsLong();
    pauses.values().removeIf(pause -> now - pause.until() > FORGET_AFTER);
  }
}
