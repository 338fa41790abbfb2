package carillon.bench.report;

import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import carillon.bench.scenarios.BigBurst;
import carillon.bench.scenarios.Publishing;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Carillon's performance targets, and whether a run reached them. */
final class Targets {

  private static final List<String> HEADINGS =
      List.of("scenario", "target", "measured", "reached", "stretch", "reached", "disturbed");

  private final Results results;
  private final int bigBurst;
  private final List<List<String>> rows = new ArrayList<>(List.of(HEADINGS));

  private Targets(Results results, int bigBurst) {
    this.results = results;
    this.bigBurst = bigBurst;
  }

  /** A lower or an upper bound. */
  private record Bound(boolean isLower, double value, String unit) {

    @Override
    public String toString() {
      return (isLower ? "≥ " : "≤ ") + with(value);
    }

    String with(double measured) {
      int decimals = unit.equals("×") ? 2 : unit.equals("ms") && measured < 1000 ? 1 : 0;
      return Report.number(measured, decimals) + " " + unit;
    }

    Bound to(double other) {
      return new Bound(isLower, other, unit);
    }

    String reached(double measured) {
      return (isLower ? measured >= value : measured <= value) ? "yes" : "**no**";
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

  /**
   * A figure that has a target.
   *
   * @param sources the rows that it was computed from; a disturbed one invalidates it
   */
  private record Measured(@Nullable Double value, List<Results.Row> sources) {
    static Measured of(@Nullable Double value, Results.Row... sources) {
      return new Measured(value, List.of(sources));
    }
  }

  private static final String OWN_DRAIN = "of alternating drains";

  /** What remains next to the loop inside PostgreSQL: requests, the node and its decisions. */
  private static final double DRAIN_OF_SQL = 0.6;

  private void compare() {
    ratio("drain", "drain", "db-scheduler", atLeast(6), null);
    ratio("drain", "drain", "graphile-worker", atLeast(0.8), 1.1);
    ratio("drain", "drain", "sql", atLeast(DRAIN_OF_SQL), null);
    ratio("lanes", "drain", "carillon", atLeast(0.7), 0.9);
    ratio("enqueue", "enqueue", "db-scheduler", atLeast(1), null);
    ratio("enqueue", "enqueue", "pg-boss", atLeast(3), null);
    ratio("enqueue", "enqueue", "graphile-worker", atLeast(3), null);
    stretchOnly("enqueue", "tasks accepted", new Bound(true, 20_000, "tasks/s"));
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
    add("all scenarios", "peak resident memory of a node", peakMemory(), atMost(512, "MB"), 300.0);
  }

  private void burst() {
    Results.Row graphile = new Results.Row("burst", "graphile-worker");
    add(
        "burst",
        "end of the last task, relative to graphile-worker",
        Measured.of(
            Ratios.of(value(carillon("burst"), Metric.LAST), value(graphile, Metric.LAST)),
            carillon("burst"),
            graphile),
        atMost(1.5, "×"),
        null);
    Double drain = value(carillon(BigBurst.NAME), Metric.BASE);
    add(
        BigBurst.NAME,
        "p99.9 start delay of %,d tasks, limit from the drains before and after, plus 1 s"
            .formatted(bigBurst),
        Measured.of(
            drain == null ? null : value(carillon(BigBurst.NAME), Metric.P999),
            carillon(BigBurst.NAME)),
        atMost(drain == null ? 0 : bigBurst * 999.0 / drain + 1000, "ms"),
        null);
    add(
        BigBurst.NAME,
        "p99 start delay of another tenant's 200 tasks a second",
        Measured.of(
            results.get(BigBurst.NAME, "carillon-others", Metric.P99), carillon(BigBurst.NAME)),
        atMost(100, "ms"),
        null);
  }

  private static Results.Row carillon(String scenario) {
    return new Results.Row(scenario, "carillon");
  }

  private @Nullable Double value(Results.Row row, Metric metric) {
    return results.get(row.scenario(), row.system(), metric);
  }

  private Measured of(String scenario, Metric metric) {
    return Measured.of(value(carillon(scenario), metric), carillon(scenario));
  }

  /** Has no sources: other programs do not change the memory of a process. */
  private Measured peakMemory() {
    List<Double> peaks = new ArrayList<>();
    results.forEach(
        (row, figures) -> {
          Double peak = figures.get(Metric.RSS_PEAK);
          if (row.system().equals("carillon") && peak != null) {
            peaks.add(peak);
          }
        });
    return Measured.of(peaks.stream().max(Double::compare).orElse(null));
  }

  /** Carillon's rate as a multiple of another system's. */
  private void ratio(
      String scenario, String otherScenario, String other, Bound bound, @Nullable Double stretch) {
    Results.Row ours = carillon(scenario);
    Results.Row reference = new Results.Row(otherScenario, other);
    String what = otherScenario.equals(scenario) ? other : other + "'s " + otherScenario;
    add(
        scenario,
        "of " + what,
        Measured.of(
            Ratios.of(value(ours, Metric.RATE), value(reference, Metric.RATE)), ours, reference),
        bound,
        stretch);
  }

  private void stretchOnly(String scenario, String what, Bound stretch) {
    row(scenario, what, of(scenario, Metric.RATE), null, stretch);
  }

  private void add(
      String scenario, String what, Measured measured, Bound bound, @Nullable Double stretch) {
    Bound stretchBound = stretch == null ? null : bound.to(stretch);
    row(scenario, what + " " + bound, measured, bound, stretchBound);
  }

  private void row(
      String scenario,
      String what,
      Measured measured,
      @Nullable Bound bound,
      @Nullable Bound stretch) {
    Double value = measured.value();
    Bound shown = bound == null ? stretch : bound;
    String disturbed = value == null ? "" : disturbed(measured);
    rows.add(
        List.of(
            scenario,
            what,
            value == null || shown == null ? "not measured" : shown.with(value),
            verdict(bound, value, disturbed),
            stretch == null ? "" : stretch.toString(),
            verdict(stretch, value, disturbed),
            disturbed));
  }

  /** In brackets if a source was disturbed. */
  private static String verdict(@Nullable Bound bound, @Nullable Double value, String disturbed) {
    if (bound == null || value == null) {
      return "";
    }
    String reached = bound.reached(value);
    return disturbed.isEmpty() ? reached : "(" + reached.replace("*", "") + ")";
  }

  /** The rows behind the figure that were disturbed by other programs. */
  private String disturbed(Measured measured) {
    return measured.sources().stream()
        .filter(row -> results.isDisturbed(row.scenario(), row.system()))
        .map(row -> row.scenario() + " of " + row.system())
        .collect(Collectors.joining(", "));
  }
}
