package carillon.bench.report;

import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Writes down what a task costs as nodes are added: as JSON, as a page, as a chart. */
public final class NodesReport {

  private static final String NOTES =
      """
      One type with 64 slices, `discard` tasks, all due at one instant; the round in the middle counts. All nodes and
      PostgreSQL share the cores of one machine, so the rate shows what nodes take from each other and not what more
      machines would give. What must stay flat is what a task costs the database:

      - statements: all that PostgreSQL ran meanwhile (`pg_stat_statements`, top level), per task. Every node asks for
        a few things each second whether there is work or not (`idle/s`, per node, measured over 5 s without any): with
        more nodes on the same cores, these make up more of the sum.
      - claims and ends: those among them that took or ended tasks.
      - WAL bytes: per task.
      - lock wait: how long sessions waited for locks of others, in µs per task, from `pg_stat_activity` every 20 ms.
        Waits for more than 10 ms are also counted one by one (`log_lock_waits`).

      `least share` is what the node with the fewest tasks did, in parts of an even share. CPU is in seconds per 10,000
      tasks; RSS is of all nodes together; `other cores` is what everything else on the machine used, the benchmark
      left out: above 0.1 the rates are lower bounds.
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
