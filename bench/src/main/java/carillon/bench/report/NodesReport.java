package carillon.bench.report;

import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Reports what a task costs as nodes are added: as JSON, a page and a chart. */
public final class NodesReport {

  private static final String NOTES =
      """
      One type with 64 slices, `discard` tasks, all due at one instant; the median round counts. All nodes and PostgreSQL
      share the cores of one machine, so the rate shows how much the nodes compete, not what more machines would
      achieve. The database cost of a task must stay constant:

      - statements: all that PostgreSQL ran during the drain (`pg_stat_statements`, top level), per task. Every node runs
        a few statements each second whether or not there is work (`idle/s`, per node, measured over 5 s without tasks):
        with more nodes on the same cores, these are a larger part of the sum.
      - claims and ends: the statements among them that claimed or ended tasks.
      - WAL bytes: per task.
      - lock wait: how long sessions waited for locks held by others, in µs per task, sampled from `pg_stat_activity`
        every 20 ms. Each wait of more than 10 ms is also counted (`log_lock_waits`).

      `min share` is the number of tasks of the node with the fewest, divided by an even share. CPU is in seconds per
      10,000 tasks; RSS is the sum of all nodes; `other cores` is the CPU used by programs that the benchmark did not
      start: above 0.1 the rates are lower bounds.
      """;

  private NodesReport() {}

  public static void write(Results results, Map<String, String> facts, Path directory)
      throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("nodes.json"), Report.json(results));
    Files.writeString(directory.resolve("nodes.md"), page(results, facts));
    Files.writeString(directory.resolve("nodes.svg"), chart(results));
  }

  static String page(Results results, Map<String, String> facts) {
    StringBuilder page = new StringBuilder("# One to eight nodes on one machine\n\n");
    facts.forEach((name, value) -> page.append("- %s: %s%n".formatted(name, value)));
    page.append("\n![What a task costs as nodes are added](nodes.svg)\n\n");
    page.append(Report.tables(results));
    return page.append("## How to read this\n\n").append(NOTES).toString();
  }

  static String chart(Results results) {
    BarChart chart = new BarChart("One to eight nodes on one machine", BarChart.Scale.OF_GROUP);
    List<Metric> metrics =
        List.of(
            Metric.RATE, Metric.STATEMENTS, Metric.TASK_STATEMENTS, Metric.WAL, Metric.LOCK_WAIT);
    for (Metric metric : metrics) {
      results.forEach(
          (row, figures) -> {
            Double value = figures.get(metric);
            if (value != null) {
              chart.add(metric.heading, row.system(), "", value, metric.decimals);
            }
          });
    }
    return chart.svg();
  }
}
