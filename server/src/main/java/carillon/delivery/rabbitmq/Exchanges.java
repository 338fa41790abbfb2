package carillon.delivery.rabbitmq;

import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Caches which exchanges exist. Publishing to one that does not exist closes the channel for all
 * messages, so each exchange is looked up before its first message.
 */
final class Exchanges {

  static final DeliveryResult NOT_FOUND =
      Publication.failed(FailureKind.UNROUTABLE, "the broker has no such exchange");
  static final DeliveryResult NOT_ALLOWED =
      Publication.failed(FailureKind.BROKER_REFUSED, "Carillon may not publish to this exchange");

  private static final Duration FOUND_TTL = Duration.ofSeconds(60);
  private static final Duration MISSING_TTL = Duration.ofSeconds(5);
  private static final int MAX_KNOWN = 10_000;

  /**
   * A lookup's result.
   *
   * @param problem the result of messages to the exchange; null if it exists
   * @param until in nanoseconds of the monotonic clock
   */
  private record Known(@Nullable DeliveryResult problem, long until) {}

  private final Map<String, Known> known = new ConcurrentHashMap<>();

  /** Whether the exchange is known to exist. */
  boolean isFound(String exchange) {
    Known about = about(exchange);
    return exchange.isEmpty() || (about != null && about.problem() == null);
  }

  /** The result of messages to the exchange, if it is known that they cannot be sent. */
  Optional<DeliveryResult> problem(String exchange) {
    Known about = about(exchange);
    return Optional.ofNullable(about == null ? null : about.problem());
  }

  private @Nullable Known about(String exchange) {
    Known about = known.get(exchange);
    return about != null && System.nanoTime() - about.until() < 0 ? about : null;
  }

  void found(String exchange) {
    put(exchange, null, FOUND_TTL);
  }

  void missing(String exchange) {
    put(exchange, NOT_FOUND, MISSING_TTL);
  }

  /** Kept longer, because finding it out costs a channel. */
  void notAllowed(String exchange) {
    put(exchange, NOT_ALLOWED, FOUND_TTL);
  }

  private void put(String exchange, @Nullable DeliveryResult problem, Duration ttl) {
    if (known.size() >= MAX_KNOWN) {
      known.clear(); // only made-up names reach this number; real ones are looked up again
    }
    known.put(exchange, new Known(problem, System.nanoTime() + ttl.toNanos()));
  }
}
