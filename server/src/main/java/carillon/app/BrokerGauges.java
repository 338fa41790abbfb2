package carillon.app;

import carillon.engine.Engine;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The gauges of the broker clusters that this node publishes to. */
final class BrokerGauges {

  private static final Duration REFRESH = Duration.ofSeconds(2);

  private final List<Engine.Broker> brokers;
  private final MultiGauge depths;

  private BrokerGauges(List<Engine.Broker> brokers, MeterRegistry registry) {
    this.brokers = List.copyOf(brokers);
    this.depths =
        MultiGauge.builder("carillon.broker.depth")
            .description("messages waiting, by queue or consumer group")
            .register(registry);
    this.brokers.forEach(broker -> register(broker, registry));
  }

  static BrokerGauges register(List<Engine.Broker> brokers, MeterRegistry registry) {
    return new BrokerGauges(brokers, registry);
  }

  private static void register(Engine.Broker broker, MeterRegistry registry) {
    Tags tags = Tags.of("broker", broker.name().text());
    Gauge.builder("carillon.broker.reachable", broker, of -> of.isReachable() ? 1 : 0)
        .description("1 while the broker is reachable")
        .tags(tags)
        .register(registry);
    Gauge.builder("carillon.broker.in.flight", broker, Engine.Broker::inFlight)
        .description("tasks claimed for the broker and not confirmed yet")
        .tags(tags)
        .register(registry);
    FunctionCounter.builder("carillon.broker.published", broker, Engine.Broker::published)
        .description("messages confirmed by the broker")
        .tags(tags)
        .register(registry);
  }

  /** One pass: the set of queues changes with the types. */
  Duration refreshOnce() {
    List<MultiGauge.Row<?>> rows = new ArrayList<>();
    for (Engine.Broker broker : brokers) {
      broker
          .depths()
          .forEach(
              (of, depth) ->
                  rows.add(
                      MultiGauge.Row.of(Tags.of("broker", broker.name().text(), "of", of), depth)));
    }
    depths.register(rows, true);
    return REFRESH;
  }
}
