package carillon.bench;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What Carillon wants to reach, and whether a run has shown it. */
final class Targets {

  private static final List<String> HEADINGS =
      List.of("scenario", "target", "measured", "reached", "stretch", "reached");

  private final Results results;
  private final int bigBurst;
  private final List<List<String>> rows = new ArrayList<>(List.of(HEADINGS));

  private Targets(Results results, int bigBurst) {
    this.results = results;
    this.bigBurst = bigBurst;
  }

  /** A bound, from below or from above. */
  private record Bound(boolean least, double value, String unit) {

    @Override
    public String toString() {
      return (least ? "≥ " : "≤ ") + with(value);
    }

    String with(double measured) {
      int decimals = unit.equals("×") ? 2 : unit.equals("ms") && measured < 1000 ? 1 : 0;
      return Report.number(measured, decimals) + " " + unit;
    }

    Bound to(double other) {
      return new Bound(least, other, unit);
    }

    String reached(double measured) {
      return (least ? measured >= value : measured <= value) ? "yes" : "**no**";
    }
  }

  private static Bound atLeast(double ratio) {
    return new Bound(true, ratio, "×");
  }

  private static Bound atMost(double value, String unit) {
    return new Bound(false, value, unit);
  }

  /**
   * A row for each target, under a row of headings.
   *
   * @param bigBurst tasks of {@link BigBurst}
   */
  static List<List<String>> rows(Results results, int bigBurst) {
    Targets targets = new Targets(results, bigBurst);
    targets.compare();
    return targets.rows;
  }

  private static final String OWN_DRAIN = "of a drain right before";

  private void compare() {
    ratio("drain", "drain", "db-scheduler", atLeast(6), null);
    ratio("drain", "drain", "graphile-worker", atLeast(0.8), 1.1);
    ratio("drain", "drain", "sql", atLeast(0.6), null);
    ratio("lanes", "drain", "carillon", atLeast(0.7), 0.9);
    ratio("enqueue", "enqueue", "db-scheduler", atLeast(1), null);
    ratio("enqueue", "enqueue", "pg-boss", atLeast(3), null);
    ratio("enqueue", "enqueue", "graphile-worker", atLeast(3), null);
    stretchOnly("enqueue", "tasks taken in", new Bound(true, 20_000, "tasks/s"));
    ratio("bulk", "bulk", "raw", atLeast(0.5), null);
    add("lateness", "p99", of("lateness", Metric.P99), atMost(5, "ms"), 3.0);
    add("lateness", "max", of("lateness", Metric.MAX), atMost(50, "ms"), null);
    burst();
    add("growth", OWN_DRAIN, of("growth", Metric.RATIO), atLeast(0.95), null);
    add("snapshot", OWN_DRAIN, of("snapshot", Metric.RATIO), atLeast(0.9), null);
    ratio("http", "http", "raw", atLeast(0.5), 0.7);
    add(
        Publishing.NAME,
        "published",
        of(Publishing.NAME, Metric.RATE),
        new Bound(true, 20_000, "tasks/s"),
        null);
    add(
        "rabbitmq",
        "published",
        of("rabbitmq", Metric.RATE),
        new Bound(true, 8_000, "tasks/s"),
        null);
    ratio("pull", "drain", "db-scheduler", atLeast(3), null);
    add("all of it", "peak memory of the node", peakMemory(), atMost(512, "MB"), 300.0);
  }

  private void burst() {
    Double graphile = results.get("burst", "graphile-worker", Metric.LAST);
    add(
        "burst",
        "last end, of graphile-worker's time",
        Ratios.of(of("burst", Metric.LAST), graphile),
        atMost(1.5, "×"),
        null);
    Double drain = of("drain", Metric.RATE);
    add(
        BigBurst.NAME,
        "99.9 %% of %,d started, against what the drain rate allows and 1 s".formatted(bigBurst),
        drain == null ? null : of(BigBurst.NAME, Metric.P999),
        atMost(drain == null ? 0 : bigBurst * 999.0 / drain + 1000, "ms"),
        null);
    add(
        BigBurst.NAME,
        "p99 of another tenant's 200 tasks a second",
        results.get(BigBurst.NAME, "carillon-others", Metric.P99),
        atMost(100, "ms"),
        null);
  }

  private @Nullable Double of(String scenario, Metric metric) {
    return results.get(scenario, "carillon", metric);
  }

  private @Nullable Double peakMemory() {
    List<Double> peaks = new ArrayList<>();
    results.forEach(
        (row, figures) -> {
          Double peak = figures.get(Metric.RSS_PEAK);
          if (row.system().equals("carillon") && peak != null) {
            peaks.add(peak);
          }
        });
    return peaks.stream().max(Double::compare).orElse(null);
  }

  /** Carillon's rate as so many times that of another. */
  private void ratio(
      String scenario, String otherScenario, String other, Bound bound, @Nullable Double stretch) {
    Double reference = results.get(otherScenario, other, Metric.RATE);
    String what = otherScenario.equals(scenario) ? other : other + "'s " + otherScenario;
    add(scenario, "of " + what, Ratios.of(of(scenario, Metric.RATE), reference), bound, stretch);
  }

  private void stretchOnly(String scenario, String what, Bound stretch) {
    Double measured = of(scenario, Metric.RATE);
    rows.add(
        List.of(
            scenario,
            what,
            measured == null ? "not measured" : stretch.with(measured),
            "",
            stretch.toString(),
            measured == null ? "" : stretch.reached(measured)));
  }

  private void add(
      String scenario,
      String what,
      @Nullable Double measured,
      Bound bound,
      @Nullable Double stretch) {
    Bound further = stretch == null ? null : bound.to(stretch);
    rows.add(
        List.of(
            scenario,
            what + " " + bound,
            measured == null ? "not measured" : bound.with(measured),
            measured == null ? "" : bound.reached(measured),
            further == null ? "" : further.toString(),
            further == null || measured == null ? "" : further.reached(measured)));
  }
}
