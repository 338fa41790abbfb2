package carillon.bench.figures;

import static java.util.Objects.requireNonNull;

import java.util.EnumMap;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What one scenario measured of one system. */
public final class Figures {

  private final Map<Metric, Double> values = new EnumMap<>(Metric.class);
  private @Nullable String note;

  /** A value that is no number was not measured. */
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

  /** Says what a number cannot. */
  public Figures note(String text) {
    note = text;
    return this;
  }

  public @Nullable String note() {
    return note;
  }

  /** Null where it was not measured. */
  public @Nullable Double get(Metric metric) {
    return values.get(metric);
  }

  /** Of what every measurement of its kind has. */
  public double required(Metric metric) {
    return requireNonNull(get(metric), metric.key);
  }

  /** The highest that any of them has. */
  public static double most(Metric metric, Figures... all) {
    return Stream.of(all).mapToDouble(each -> each.required(metric)).max().orElseThrow();
  }

  public boolean isEmpty() {
    return values.isEmpty();
  }

  public boolean has(Metric metric) {
    return values.containsKey(metric);
  }
}
