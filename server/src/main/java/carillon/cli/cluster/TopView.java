package carillon.cli.cluster;

import carillon.cli.Amounts;
import carillon.cli.Text;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** The output of {@code top --metrics}, computed from two scrapes. No clock, no I/O. */
record TopView(Metrics before, Metrics now, Duration elapsed) {

  private static final String LATENESS = "carillon_lateness_seconds";

  /** For a terminal. */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    lines.add(row("created", rate("carillon_created_tasks_total") + "/s"));
    lines.add(row("claimed", rate("carillon_claimer_claimed_total") + "/s"));
    lines.add(
        row(
            "delivered",
            rate("carillon_deliveries_total")
                + "/s"
                + rates("carillon_deliveries_total", "result")));
    lines.add(
        row(
            "outcomes",
            rate("carillon_outcomes_total") + "/s" + rates("carillon_outcomes_total", "outcome")));
    lines.add(
        row("start delay", "p50 %s  p95 %s  p99 %s".formatted(late(0.5), late(0.95), late(0.99))));
    lines.add(
        row(
            "backlog",
            count("carillon_backlog_due")
                + " due, oldest "
                + Amounts.seconds(now.sum("carillon_backlog_oldest_seconds"))));
    lines.add(row("in flight", count("carillon_in_flight") + " of " + count("carillon_seats")));
    if (now.sum("carillon_suspects") > 0) {
      lines.add(
          row(
              "suspects",
              "%s waiting  %s running"
                  .formatted(
                      Amounts.number(suspects("waiting")), Amounts.number(suspects("running")))));
    }
    lines.add(row("fenced", count("carillon_completer_fenced_total")));
    lines.add(
        row(
            "pool",
            "%s active  %s idle  %s waiting"
                .formatted(
                    count("carillon_pool_active"),
                    count("carillon_pool_idle"),
                    count("carillon_pool_pending"))));
    return lines;
  }

  /** For a file or a pipe. */
  String line() {
    return "created/s=%s claimed/s=%s delivered/s=%s outcomes/s=%s p50=%s p99=%s backlog=%s oldest=%s inflight=%s fenced=%s"
        .formatted(
            rate("carillon_created_tasks_total"),
            rate("carillon_claimer_claimed_total"),
            rate("carillon_deliveries_total"),
            rate("carillon_outcomes_total"),
            late(0.5),
            late(0.99),
            count("carillon_backlog_due"),
            Amounts.seconds(now.sum("carillon_backlog_oldest_seconds")),
            count("carillon_in_flight"),
            count("carillon_completer_fenced_total"));
  }

  private static String row(String name, String value) {
    return String.format(Locale.ROOT, "%-11s %s", name, value);
  }

  /** A counter that decreased was reset by a restart; its value is what happened since. */
  private double perSecond(double then, double current) {
    double seconds = Math.max(0.001, elapsed.toNanos() / 1e9);
    return (current >= then ? current - then : current) / seconds;
  }

  private String rate(String name) {
    return Amounts.number(perSecond(before.sum(name), now.sum(name)));
  }

  private String rates(String name, String label) {
    Map<String, Double> then = before.sumBy(name, label);
    StringBuilder rates = new StringBuilder();
    now.sumBy(name, label)
        .forEach(
            (value, current) ->
                rates
                    .append("  ")
                    .append(Text.visible(value))
                    .append(' ')
                    .append(Amounts.number(perSecond(then.getOrDefault(value, 0.0), current))));
    return rates.toString();
  }

  private double suspects(String state) {
    return now.sumBy("carillon_suspects", "state").getOrDefault(state, 0.0);
  }

  private String count(String name) {
    return Amounts.number(now.sum(name));
  }

  private String late(double quantile) {
    NavigableMap<Double, Double> then = before.buckets(LATENESS);
    NavigableMap<Double, Double> between = new TreeMap<>(now.buckets(LATENESS));
    between.replaceAll((bound, count) -> count - then.getOrDefault(bound, 0.0));
    double value = quantile(between, quantile);
    return Double.isNaN(value) ? "-" : Amounts.seconds(value);
  }

  /**
   * Interpolates linearly within a bucket, as Prometheus does. Values beyond the last bound count
   * as that bound.
   */
  static double quantile(NavigableMap<Double, Double> buckets, double quantile) {
    double total = buckets.isEmpty() ? 0 : buckets.lastEntry().getValue();
    if (total <= 0) {
      return Double.NaN;
    }
    double rank = quantile * total;
    double lowerBound = 0;
    double lowerCount = 0;
    for (Map.Entry<Double, Double> bucket : buckets.entrySet()) {
      double bound = bucket.getKey();
      double count = bucket.getValue();
      if (count >= rank) {
        boolean open = Double.isInfinite(bound) || count == lowerCount;
        return open
            ? lowerBound
            : lowerBound + (bound - lowerBound) * (rank - lowerCount) / (count - lowerCount);
      }
      lowerBound = bound;
      lowerCount = count;
    }
    return lowerBound;
  }
}
