package carillon.bench;

import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What one scenario measured of one system. */
final class Figures {

  private final Map<Metric, Double> values = new EnumMap<>(Metric.class);

  Figures with(Metric metric, double value) {
    values.put(metric, value);
    return this;
  }

  Figures with(Percentiles times) {
    return with(Metric.P50, times.at(50))
        .with(Metric.P99, times.at(99))
        .with(Metric.MAX, times.at(100));
  }

  /** Null where it was not measured. */
  @Nullable Double get(Metric metric) {
    return values.get(metric);
  }

  boolean has(Metric metric) {
    return values.containsKey(metric);
  }
}
