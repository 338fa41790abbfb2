package carillon.api.http;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Counts and times requests. Meters are looked up once: the registry builds and compares names and
 * tags at each lookup.
 */
final class RequestMeters {

  private final MeterRegistry metrics;
  private final Map<Key, Meters> known = new ConcurrentHashMap<>();

  RequestMeters(MeterRegistry metrics) {
    this.metrics = metrics;
  }

  private record Key(String route, int status) {}

  private record Meters(Counter requests, Timer took) {}

  void record(String route, int status, Duration took) {
    Meters meters = known.computeIfAbsent(new Key(route, status), this::create);
    meters.requests().increment();
    meters.took().record(took);
  }

  private Meters create(Key key) {
    return new Meters(
        requests(key.route(), key.status()),
        Timer.builder("carillon.api.request")
            .description("Duration of requests, including the time they waited")
            .tag("route", key.route())
            .register(metrics));
  }

  /** Counts a request that was never routed, and so has no duration. */
  void count(String route, int status) {
    requests(route, status).increment();
  }

  private Counter requests(String route, int status) {
    return Counter.builder("carillon.api.requests")
        .description("Requests, by route and status")
        .tag("route", route)
        .tag("status", String.valueOf(status))
        .register(metrics);
  }
}
