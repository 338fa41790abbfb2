package carillon.bench.report;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import carillon.bench.scenarios.Publishing;
import org.jspecify.annotations.Nullable;

/** Sets every figure in proportion to the one that it is naturally compared with. */
public final class Ratios {

  public static final String NOTES =
      """
      The ratio is of rates: drain to `sql`; growth and snapshot to `base`, drains of the same system without that, in
      turns with it, of which the one in the middle counts; lanes to Carillon's drain; bulk, http and kafka to `raw`;
      enqueue to db-scheduler's; pull to db-scheduler's drain. Of a burst it is graphile-worker's time until the last task
      had ended to the system's own. To RabbitMQ it is to a plain producer's rate right before. `base` of burst-500k is
      the mean of two drains, one right before it and one right after it, which says how long the burst may take.
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

  /** Null unless both are there. */
  static @Nullable Double of(@Nullable Double value, @Nullable Double reference) {
    return value == null || reference == null || reference == 0 ? null : value / reference;
  }
}
