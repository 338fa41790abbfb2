package carillon.delivery.rabbitmq;

import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What is known about exchanges. To publish to one that is not there closes the channel under all
 * others, so each is looked up before its first message.
 */
final class Exchanges {

  static final DeliveryResult NO_SUCH =
      Publication.failed(FailureKind.UNROUTABLE, "the broker has no such exchange");
  static final DeliveryResult NOT_LET =
      Publication.failed(
          FailureKind.BROKER_REFUSED, "the broker does not let us publish to this exchange");

  private static final Duration FOUND = Duration.ofSeconds(60);
  private static final Duration MISSING = Duration.ofSeconds(5);
  private static final int MOST = 10_000;

  /**
   * What the broker said about one.
   *
   * @param problem how messages to it end; null means that it is there
   * @param until in nanoseconds of the monotonic clock
   */
  private record Known(@Nullable DeliveryResult problem, long until) {}

  private final Map<String, Known> known = new ConcurrentHashMap<>();

  /** Whether a message may be sent there, as far as is known. */
  boolean isFound(String exchange) {
    Known about = about(exchange);
    return exchange.isEmpty() || (about != null && about.problem() == null);
  }

  /** How messages to it end without being sent. */
  Optional<DeliveryResult> problem(String exchange) {
    Known about = about(exchange);
    return Optional.ofNullable(about == null ? null : about.problem());
  }

  private @Nullable Known about(String exchange) {
    Known about = known.get(exchange);
    return about != null && System.nanoTime() - about.until() < 0 ? about : null;
  }

  void found(String exchange) {
    keep(exchange, null, FOUND);
  }

  void missing(String exchange) {
    keep(exchange, NO_SUCH, MISSING);
  }

  /** It cost a channel to learn this, so it is believed for longer. */
  void refused(String exchange) {
    keep(exchange, NOT_LET, FOUND);
  }

  private void keep(String exchange, @Nullable DeliveryResult problem, Duration how) {
    if (known.size() >= MOST) {
      known.clear(); // somebody makes up names; what is needed is asked for again
    }
    known.put(exchange, new Known(problem, System.nanoTime() + how.toNanos()));
  }
}
