package carillon.delivery.rabbitmq;

import carillon.model.target.Target;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * Where messages were not confirmed in time, as by a queue without its majority: left alone for a
 * while, so that they do not hold the seats of all others again and again.
 */
final class RouteBackoff {

  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
  private static final long FORGOTTEN = Duration.ofSeconds(60).toNanos();

  private record Place(String exchange, String routingKey) {

    static Place of(Target.RabbitMq target) {
      return new Place(target.exchange(), target.routingKey());
    }
  }

  private record Rest(long until, Duration pause) {}

  private final Map<Place, Rest> rests = new ConcurrentHashMap<>();
  private final LongSupplier nanos;

  RouteBackoff(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** What was sent there was not confirmed. */
  void doubt(Target.RabbitMq target) {
    long now = nanos.getAsLong();
    rests.compute(
        Place.of(target),
        (_, old) -> {
          if (old != null && old.until() - now > 0) {
            return old; // of the same mishap
          }
          Duration pause = old == null ? FIRST_PAUSE : old.pause().multipliedBy(2);
          pause = pause.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause;
          return new Rest(now + pause.toNanos(), pause);
        });
  }

  boolean isResting(Target.RabbitMq target) {
    Rest rest = rests.isEmpty() ? null : rests.get(Place.of(target));
    return rest != null && rest.until() - nanos.getAsLong() > 0;
  }

  /** Lets go of those where nothing went wrong lately. */
  void sweep() {
    long now = nanos.getAsLong();
    rests.values().removeIf(rest -> now - rest.until() > FORGOTTEN);
  }
}
