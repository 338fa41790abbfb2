package carillon.bench.report;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import carillon.bench.scenarios.Publishing;
import org.jspecify.annotations.Nullable;

/** Computes the ratio of each figure to its natural reference. */
public final class Ratios {

  public static final String NOTES =
      """
      The ratio compares rates: drain with `sql`; growth and snapshot with `base`, alternating drains of the same system
      without the load, of which the median pair counts; lanes with Carillon's drain; bulk, http and kafka with `raw`;
      enqueue with db-scheduler's; pull with db-scheduler's drain; rabbitmq with a plain producer right before. For a burst
      it compares times: graphile-worker's end of the last task with the system's own. `base` of burst-500k is the mean of
      two drains, one right before and one right after, which determines how long the burst may take.
      """;

  private Ratios() {}

  public static void addTo(Results results) {
    results.forEach(
        (row, figures) -> {
          Double ratio = ratio(results, row, figures);
          if (ratio != null) {
            figures.with(Metric.RATIO, ratio);
          }
        });
  }

  private static @Nullable Double ratio(Results results, Results.Row row, Figures figures) {
    Double rate = figures.get(Metric.RATE);
    return switch (row.scenario()) {
      case "drain" -> of(rate, results.get("drain", "sql", Metric.RATE));
      case "lanes" -> of(rate, results.get("drain", "carillon", Metric.RATE));
      case "enqueue" -> of(rate, results.get("enqueue", "db-scheduler", Metric.RATE));
      case "pull" -> of(rate, results.get("drain", "db-scheduler", Metric.RATE));
      case "bulk", "http", Publishing.NAME ->
          of(rate, results.get(row.scenario(), "raw", Metric.RATE));
      case "burst" ->
          of(results.get("burst", "graphile-worker", Metric.LAST), figures.get(Metric.LAST));
      default -> null;
    };
  }

  /** Null if either value was not measured. */
  static @Nullable Double of(@Nullable Double value, @Nullable Double reference) {
    return value == null || reference == null || reference == 0 ? null : value / reference;
  }
}
