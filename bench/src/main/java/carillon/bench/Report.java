package carillon.bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Writes results down: for programs as JSON, for people as a table and as a page. */
final class Report {

  private static final JsonMapper JSON =
      JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

  private Report() {}

  /** {@code {scenario: {system: {metric: number}}}}. */
  static String json(Results results) {
    Map<String, Map<String, Map<String, Double>>> tree = new LinkedHashMap<>();
    results.forEach(
        (row, figures) -> {
          Map<String, Double> metrics = new LinkedHashMap<>();
          for (Metric metric : Metric.values()) {
            Double value = figures.get(metric);
            if (value != null) {
              metrics.put(metric.key, rounded(value));
            }
          }
          tree.computeIfAbsent(row.scenario(), _ -> new LinkedHashMap<>())
              .put(row.system(), metrics);
        });
    return JSON.writeValueAsString(tree) + "\n";
  }

  /** Six decimals: below that is noise. */
  private static double rounded(double value) {
    return Math.round(value * 1e6) / 1e6;
  }

  /** A Markdown table, which reads well as plain text too. */
  static String table(Results results) {
    List<List<String>> rows = new ArrayList<>();
    List<String> headings = new ArrayList<>(List.of("scenario", "system"));
    for (Metric metric : Metric.values()) {
      headings.add(metric.heading);
    }
    rows.add(headings);
    results.forEach(
        (row, figures) -> {
          List<String> cells = new ArrayList<>(List.of(row.scenario(), row.system()));
          for (Metric metric : Metric.values()) {
            cells.add(number(figures.get(metric), metric.decimals));
          }
          rows.add(cells);
        });
    return lines(rows);
  }

  static String number(@Nullable Double value, int decimals) {
    return value == null ? "" : String.format(Locale.ROOT, "%,." + decimals + "f", value);
  }

  private static String lines(List<List<String>> rows) {
    int columns = rows.getFirst().size();
    int[] widths = new int[columns];
    for (List<String> row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    StringBuilder text = new StringBuilder();
    for (int r = 0; r < rows.size(); r++) {
      for (int i = 0; i < columns; i++) {
        String align = i < 2 ? "-" : "";
        text.append(("| %" + align + widths[i] + "s ").formatted(rows.get(r).get(i)));
      }
      text.append("|\n");
      if (r == 0) {
        for (int i = 0; i < columns; i++) {
          text.append("|").append("-".repeat(widths[i] + 1)).append(i < 2 ? "-" : ":");
        }
        text.append("|\n");
      }
    }
    return text.toString();
  }

  /**
   * The page beside the JSON.
   *
   * @param facts of the run: when, what, where
   * @param settings of PostgreSQL
   */
  static String page(
      Results results, Map<String, String> facts, Map<String, String> settings, String notes) {
    StringBuilder page = new StringBuilder("# Results of the last run\n\n");
    facts.forEach(
        (name, value) -> page.append("- ").append(name).append(": ").append(value).append('\n'));
    page.append("- PostgreSQL: ");
    settings.forEach((name, value) -> page.append(name).append(' ').append(value).append(", "));
    page.setLength(page.length() - 2);
    page.append("\n\n").append(table(results)).append('\n').append(notes);
    page.append(
        "\n![Tasks per second](rate.svg)\n\n![Milliseconds](times.svg)\n\n![CPU](cpu.svg)\n");
    return page.toString();
  }

  /** The three charts, by the names of their files. */
  static Map<String, String> charts(Results results) {
    BarChart rate = new BarChart("Tasks per second", false);
    BarChart times = new BarChart("Milliseconds, logarithmic", true);
    BarChart cpu = new BarChart("CPU seconds per 10,000 tasks", false);
    results.forEach(
        (row, figures) -> {
          String name = row.scenario() + ", " + row.system();
          add(rate, name, figures, Metric.RATE);
          add(times, name, figures, Metric.P50, Metric.P99, Metric.MAX);
          add(cpu, name, figures, Metric.CPU_CLIENT, Metric.CPU_SERVER);
        });
    return Map.of("rate.svg", rate.svg(), "times.svg", times.svg(), "cpu.svg", cpu.svg());
  }

  private static void add(BarChart chart, String name, Figures figures, Metric... metrics) {
    for (Metric metric : metrics) {
      Double value = figures.get(metric);
      if (value != null) {
        chart.add(name, metric.heading, value, metric.decimals);
      }
    }
  }
}
