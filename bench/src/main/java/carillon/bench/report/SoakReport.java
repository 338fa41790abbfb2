package carillon.bench.report;

import carillon.bench.figures.Sample;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/** Reports what grew during a soak: as a page and a chart, next to the CSV of its samples. */
public final class SoakReport {

  private static final String NOTES =
      """
      One node with all roles. Tasks are created in batches of 1 to 2,000; one in ten is due within the next 30 seconds, the
      others now. Of 100 tasks, 97 are discarded, two are delivered over HTTP, and one goes to a target that refuses every
      second request. Every row of the table and of [soak.csv](soak.csv) sums all partitions of a table. Finished tasks are
      not removed during the run, so the table task grows by every task.

      - waiting: tasks that are due and not claimed; oldest: for how long the first of them has waited. Both are of one
        instant, and the highest of the phase.
      - MB: at the end of the phase. The TOAST of claim includes its free space map. dead: rows that vacuum has not removed,
        as PostgreSQL estimates them; the highest of the phase.
      - While the snapshot is held, nothing can be removed that has been deleted since: dead rows must grow, waiting must not.
      - CPU is in cores; RSS is of the node.
      """;

  private SoakReport() {}

  /** A sample on one line of the terminal. */
  public static String line(Sample sample) {
    return "%6.2f min  %,6.0f created/s %,6.0f completed/s  waiting %,.0f, %.1f s  queue %,.0f + %,.0f MB, %,.0f dead  task %,.0f + %,.0f MB  claim %,.0f + %,.0f + %,.0f MB, %,.0f dead  RSS %,.0f MB  load %.1f%s"
        .formatted(
            sample.get("minute"),
            sample.get("created_per_s"),
            sample.get("completed_per_s"),
            sample.get("waiting"),
            sample.get("oldest_s"),
            sample.get("queue_heap_mb"),
            sample.get("queue_indexes_mb"),
            sample.get("queue_dead"),
            sample.get("task_heap_mb"),
            sample.get("task_indexes_mb"),
            sample.get("claim_heap_mb"),
            sample.get("claim_indexes_mb"),
            sample.get("claim_toast_mb"),
            sample.get("claim_dead"),
            sample.get("server_rss_mb"),
            sample.get("load_average"),
            isHeld(sample) ? "  snapshot" : "");
  }

  private static boolean isHeld(Sample sample) {
    return sample.get("snapshot") > 0;
  }

  /**
   * Writes page and chart into a directory.
   *
   * @param samples by column
   * @param failures why the run failed; empty if it did not
   * @param from when the snapshot was taken, in minutes
   * @param to when it was given up
   */
  public static void write(
      List<Sample> samples,
      Map<String, String> facts,
      List<String> failures,
      double from,
      double to,
      Path directory)
      throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("soak.md"), page(samples, facts, failures));
    Files.writeString(directory.resolve("soak.svg"), chart(samples, from, to));
  }

  static String page(List<Sample> samples, Map<String, String> facts, List<String> failures) {
    StringBuilder page = new StringBuilder("# One node under a steady load\n\n");
    failures.forEach(failure -> page.append("**FAILED: %s.**%n%n".formatted(failure)));
    facts.forEach((name, value) -> page.append("- %s: %s%n".formatted(name, value)));
    if (!samples.isEmpty()) {
      Sample last = samples.getLast();
      double tasks = Math.max(1, last.get("created"));
      page.append(
          "- at the end: %,.0f bytes of task and %,.0f of its indexes per created task; %.1f %% of its updates were HOT%n"
              .formatted(
                  last.get("task_heap_mb") * (1 << 20) / tasks,
                  last.get("task_indexes_mb") * (1 << 20) / tasks,
                  100 * last.get("task_hot") / Math.max(1, last.get("task_updated"))));
    }
    page.append("\n![Rates and sizes over time](soak.svg)\n\n");
    page.append(Report.lines(phases(samples), 1)).append('\n');
    return page.append("## How to read this\n\n").append(NOTES).toString();
  }

  private static List<List<String>> phases(List<Sample> samples) {
    int first = samples.size();
    int last = -1;
    for (int i = 0; i < samples.size(); i++) {
      if (isHeld(samples.get(i))) {
        first = Math.min(first, i);
        last = i;
      }
    }
    List<List<String>> rows = new ArrayList<>();
    rows.add(
        List.of(
            "phase",
            "minutes",
            "created/s",
            "completed/s",
            "waiting",
            "oldest s",
            "queue MB",
            "its indexes",
            "dead",
            "task MB",
            "its indexes",
            "claim MB",
            "its indexes",
            "its TOAST",
            "dead",
            "CPU node",
            "CPU PostgreSQL",
            "RSS MB"));
    addPhase(rows, "before", samples.subList(0, first));
    if (last >= 0) {
      addPhase(rows, "snapshot held", samples.subList(first, last + 1));
      addPhase(rows, "after", samples.subList(last + 1, samples.size()));
    }
    return rows;
  }

  private static void addPhase(List<List<String>> rows, String name, List<Sample> phase) {
    if (phase.isEmpty()) {
      return;
    }
    Sample end = phase.getLast();
    List<String> row = new ArrayList<>(List.of(name));
    row.add(Report.number(end.get("minute"), 0));
    // No tasks are created before the last sample of the run.
    Predicate<Sample> isLoaded = sample -> sample.get("created_per_s") > 0;
    for (String rate : List.of("created_per_s", "completed_per_s")) {
      row.add(Report.number(values(phase.stream().filter(isLoaded), rate).average().orElse(0), 0));
    }
    row.add(Report.number(max(phase, "waiting"), 0));
    row.add(Report.number(max(phase, "oldest_s"), 1));
    for (String table : List.of("queue", "task", "claim")) {
      row.add(Report.number(end.get(table + "_heap_mb"), 0));
      row.add(Report.number(end.get(table + "_indexes_mb"), 0));
      if (table.equals("claim")) {
        row.add(Report.number(end.get("claim_toast_mb"), 0));
      }
      if (!table.equals("task")) {
        row.add(Report.number(max(phase, table + "_dead"), 0));
      }
    }
    for (String cores : List.of("server_cores", "postgres_cores")) {
      row.add(Report.number(values(phase.stream().filter(isLoaded), cores).average().orElse(0), 2));
    }
    row.add(Report.number(max(phase, "server_rss_mb"), 0));
    rows.add(row);
  }

  private static double max(List<Sample> phase, String column) {
    return values(phase.stream(), column).max().orElse(0);
  }

  private static DoubleStream values(Stream<Sample> samples, String column) {
    return samples.mapToDouble(sample -> sample.get(column));
  }

  static String chart(List<Sample> samples, double from, double to) {
    LineChart chart =
        new LineChart(
            "One node under a steady load; shaded: a snapshot is held",
            values(samples.stream(), "minute").boxed().toList(),
            from,
            to);
    panel(chart, samples, "Tasks per second", "created_per_s", "completed_per_s");
    panel(chart, samples, "Due tasks waiting", "waiting");
    panel(chart, samples, "Oldest of them, seconds", "oldest_s");
    panel(chart, samples, "Queue, MB", "queue_heap_mb", "queue_indexes_mb");
    panel(chart, samples, "Task, MB", "task_heap_mb", "task_indexes_mb");
    panel(chart, samples, "Claim, MB", "claim_heap_mb", "claim_indexes_mb", "claim_toast_mb");
    panel(chart, samples, "Dead rows", "queue_dead", "task_dead");
    panel(chart, samples, "Dead rows of claims", "claim_dead", "claim_toast_dead");
    panel(
        chart,
        samples,
        "Autovacuums",
        "queue_autovacuums",
        "task_autovacuums",
        "claim_autovacuums");
    panel(chart, samples, "Log, MB per second", "wal_mb_per_s");
    panel(chart, samples, "Memory of the node, MB", "server_rss_mb");
    panel(chart, samples, "Cores, load average", "server_cores", "postgres_cores", "load_average");
    return chart.svg();
  }

  private static void panel(
      LineChart chart, List<Sample> samples, String heading, String... columns) {
    chart.panel(
        heading,
        Stream.of(columns)
            .map(name -> new LineChart.Line(name, values(samples.stream(), name).boxed().toList()))
            .toList());
  }
}
