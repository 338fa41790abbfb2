package carillon.bench.figures;

import static java.util.Objects.requireNonNull;

import java.util.EnumMap;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The figures of one system in one scenario. */
public final class Figures {

  private final Map<Metric, Double> values = new EnumMap<>(Metric.class);
  private @Nullable String note;

  /** Ignores NaN, which means not measured. */
  public Figures with(Metric metric, double value) {
    if (!Double.isNaN(value)) {
      values.put(metric, value);
    }
    return this;
  }

  public Figures with(Times times) {
    return with(Metric.P50, times.p50())
        .with(Metric.P99, times.p99())
        .with(Metric.MAX, times.max());
  }

  /** Adds a remark that the report prints below the table. */
  public Figures note(String text) {
    note = text;
    return this;
  }

  public @Nullable String note() {
    return note;
  }

  /** Null if it was not measured. */
  public @Nullable Double get(Metric metric) {
    return values.get(metric);
  }

  /** For a metric that every measurement of this kind has. */
  public double required(Metric metric) {
    return requireNonNull(get(metric), metric.key);
  }

  /** The highest value of the metric. */
  public static double max(Metric metric, Figures... all) {
    return Stream.of(all).mapToDouble(each -> each.required(metric)).max().orElseThrow();
  }

  public boolean isEmpty() {
    return values.isEmpty();
  }

  public boolean has(Metric metric) {
    return values.containsKey(metric);
  }
}
