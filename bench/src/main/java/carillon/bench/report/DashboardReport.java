package carillon.bench.report;

import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Reports how the dashboard performs next to millions of tasks: as JSON, a page and a chart. */
public final class DashboardReport {

  private static final String NOTES =
      """
      One node with all roles next to the tasks that `sizes` calls dashboard: 70 of 100 completed, 10 dead, 3 cancelled or
      expired, 1 due and waiting for a worker, 16 due in the next 20 days; in 40 partitions, 1,000 lanes of 49 tenants, 95 of
      100 tasks belong to one tenant, whose pages are requested. Half of a partition's tasks are stored in the order of their
      due times, the other half in random order.

      - All requests are made one after the other, 20 times, two seconds apart. `first` is the first request for the data
        since the node started, `max` the longest of all. Lists and searches query the database each time. The figures of
        `/v1/stats` and `/v1/stats/tenants` are refreshed at fixed intervals and served from memory in between, so their
        `first` is a query and their p50 is mostly memory. Each time is from the first byte sent to the last received,
        measured by the benchmark on the same machine, so a little more than the server's own.
      - Streams: CPU of the PostgreSQL processes (from `/proc`) as a percentage of one core: without streams (the mean of
        before and after), with 50 of them (`/v1/events`, each with its own key: half for the tenant with the most tasks,
        every second of these limited to two types, each of the others for a different tenant), and the difference, which must be
        below 2. `events/s` counts the events received on all streams.
      - The plan of every statement that ran for these requests is in [dashboard-plans.md](dashboard-plans.md).
      """;

  private static final int LABEL = 32;

  private DashboardReport() {}

  /**
   * Writes the results into a directory.
   *
   * @param plans the plans of the statements behind the requests
   */
  public static void write(Results results, Map<String, String> facts, String plans, Path directory)
      throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("dashboard.json"), Report.json(results));
    Files.writeString(directory.resolve("dashboard.md"), page(results, facts));
    Files.writeString(directory.resolve("dashboard.svg"), chart(results));
    Files.writeString(
        directory.resolve("dashboard-plans.md"),
        "# Query plans of the dashboard's requests\n\n"
            + "Each statement with its plan from `EXPLAIN (ANALYZE, BUFFERS)`. Measuring makes"
            + " these times longer than without.\n"
            + "Commit: "
            + facts.getOrDefault("commit", "unknown")
            + "\n\n"
            + plans);
  }

  static String page(Results results, Map<String, String> facts) {
    StringBuilder page = new StringBuilder("# The dashboard next to millions of tasks\n\n");
    facts.forEach((name, value) -> page.append("- %s: %s%n".formatted(name, value)));
    page.append("\n![Time of each request](dashboard.svg)\n\n");
    page.append(Report.tables(results).replace("| system  ", "| request "));
    return page.append("## How to read this\n\n").append(NOTES).toString();
  }

  static String chart(Results results) {
    BarChart chart = new BarChart("Milliseconds, logarithmic", BarChart.Scale.LOGARITHMIC);
    results.forEach(
        (row, figures) -> {
          Double median = figures.get(Metric.P50);
          Double longest = figures.get(Metric.MAX);
          if (median != null && longest != null) {
            String request = shortened(row.system());
            chart.add(row.scenario(), request, Metric.P50.heading, median, Metric.P50.decimals);
            chart.add(row.scenario(), request, Metric.MAX.heading, longest, Metric.MAX.decimals);
          }
        });
    return chart.svg();
  }

  /** Shortened to what fits next to a bar. */
  private static String shortened(String path) {
    String rest = path.replace("/v1/", "").replaceAll("[?&]limit=[0-9]+", "");
    return rest.length() <= LABEL ? rest : rest.substring(0, LABEL - 1) + "…";
  }
}
