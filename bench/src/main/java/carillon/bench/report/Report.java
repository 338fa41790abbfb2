package carillon.bench.report;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import carillon.bench.scenarios.Disk;
import carillon.bench.scenarios.Now;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Formats results: as JSON for programs, as tables and a page for people. */
public final class Report {

  private static final JsonMapper JSON =
      JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

  private Report() {}

  /** {@code {scenario: {system: {metric: number}}}}. */
  public static String json(Results results) {
    Map<String, Map<String, Map<String, Double>>> tree = new LinkedHashMap<>();
    results.forEach(
        (row, figures) -> {
          if (figures.isEmpty()) {
            return; // failed
          }
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

  /** Six decimals; the rest is noise. */
  private static double rounded(double value) {
    return Math.round(value * 1e6) / 1e6;
  }

  /** Markdown tables, one per scenario, aligned so that they are readable as plain text. */
  public static String tables(Results results) {
    StringBuilder text = new StringBuilder();
    results
        .scenarios()
        .forEach(
            (scenario, systems) -> {
              text.append("## ").append(heading(scenario)).append("\n\n");
              text.append(table(systems)).append('\n');
              text.append(remarks(results, scenario));
            });
    return text.toString();
  }

  private static String heading(String scenario) {
    return switch (scenario) {
      case Now.NAME -> Now.NAME + ": create and run now";
      case Disk.NAME -> Disk.NAME + ": bytes of a finished task";
      default -> scenario;
    };
  }

  /** Has only the columns that at least one system measured. */
  private static String table(Map<String, Figures> systems) {
    List<Metric> metrics =
        Arrays.stream(Metric.values())
            .filter(metric -> systems.values().stream().anyMatch(f -> f.has(metric)))
            .toList();
    List<List<String>> rows = new ArrayList<>();
    List<String> headings = new ArrayList<>(List.of("system"));
    metrics.forEach(metric -> headings.add(metric.heading));
    rows.add(headings);
    systems.forEach(
        (system, figures) -> {
          List<String> cells = new ArrayList<>(List.of(system));
          metrics.forEach(metric -> cells.add(number(figures.get(metric), metric.decimals)));
          if (figures.isEmpty() && !metrics.isEmpty()) {
            cells.set(1, "FAILED");
          }
          rows.add(cells);
        });
    return lines(rows, 1);
  }

  private static String remarks(Results results, String scenario) {
    StringBuilder text = new StringBuilder();
    results
        .remarks()
        .forEach(
            (row, remark) -> {
              if (row.scenario().equals(scenario)) {
                text.append("- %s: %s%n".formatted(row.system(), remark));
              }
            });
    return text.isEmpty() ? "" : text.append('\n').toString();
  }

  public static String number(@Nullable Double value, int decimals) {
    return value == null ? "" : String.format(Locale.ROOT, "%,." + decimals + "f", value);
  }

  /**
   * @param left how many columns are left-aligned
   */
  static String lines(List<List<String>> rows, int left) {
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
        String align = i < left ? "-" : "";
        text.append(("| %" + align + widths[i] + "s ").formatted(rows.get(r).get(i)));
      }
      text.append("|\n");
      if (r == 0) {
        for (int i = 0; i < columns; i++) {
          text.append("|").append("-".repeat(widths[i] + 1)).append(i < left ? "-" : ":");
        }
        text.append("|\n");
      }
    }
    return text.toString();
  }

  /**
   * The page that is written alongside the JSON.
   *
   * @param facts about the run: date, commit, machine
   * @param postgres its settings
   * @param bigBurst tasks of {@link carillon.bench.scenarios.BigBurst}
   */
  public static String page(
      Results results,
      Map<String, String> facts,
      Map<String, String> postgres,
      int bigBurst,
      String notes) {
    StringBuilder page = new StringBuilder("# Results of the last run\n\n");
    results
        .missing()
        .forEach(
            (system, why) ->
                page.append(
                    "**%s WAS NOT RUN: %s.**%n%n".formatted(system.toUpperCase(Locale.ROOT), why)));
    facts.forEach((name, value) -> page.append("- %s: %s%n".formatted(name, value)));
    page.append("- PostgreSQL, the same for all: ").append(listed(postgres)).append("\n\n");
    page.append(
        "What each scenario does, which systems take part, and how to run one alone:"
            + " [bench](../README.md).\n\n"
            + "## Targets\n\n"
            + "All targets are for Carillon, compared with systems of the same run.\n\n");
    page.append(lines(Targets.rows(results, bigBurst), 2)).append('\n');
    page.append(disturbed(results));
    page.append(
        "![Tasks per second](rate.svg)\n\n![Milliseconds](times.svg)\n\n![CPU](cpu.svg)\n\n");
    page.append(tables(results));
    page.append("## Systems\n\n");
    results.settings().forEach((name, value) -> page.append("- %s: %s%n".formatted(name, value)));
    return page.append("\n## How to read this\n\n").append(notes).toString();
  }

  /** Lists disturbed rows: a ratio is meaningless if one side had less of the machine. */
  private static String disturbed(Results results) {
    List<String> rows = new ArrayList<>();
    results.forEach(
        (row, _) -> {
          if (results.isDisturbed(row.scenario(), row.system())) {
            rows.add("%s of %s".formatted(row.scenario(), row.system()));
          }
        });
    return rows.isEmpty()
        ? ""
        : "**Disturbed by other programs, so not comparable: %s.** A target in brackets depends on one of these rows.%n%n"
            .formatted(String.join(", ", rows));
  }

  public static String listed(Map<String, String> settings) {
    return settings.entrySet().stream()
        .map(setting -> setting.getKey() + " " + setting.getValue())
        .collect(Collectors.joining(", "));
  }

  /** The three charts by file name. */
  public static Map<String, String> charts(Results results) {
    BarChart rate = new BarChart("Tasks per second", BarChart.Scale.OF_GROUP);
    BarChart times = new BarChart("Milliseconds, logarithmic", BarChart.Scale.LOGARITHMIC);
    BarChart cpu = new BarChart("CPU seconds per 10,000 tasks", BarChart.Scale.OF_GROUP);
    results.forEach(
        (row, figures) -> {
          add(rate, row, figures, Metric.RATE);
          add(times, row, figures, Metric.P50, Metric.P99, Metric.MAX, Metric.LAST);
          add(cpu, row, figures, Metric.CPU_CLIENT, Metric.CPU_SERVER);
        });
    return Map.of("rate.svg", rate.svg(), "times.svg", times.svg(), "cpu.svg", cpu.svg());
  }

  private static void add(BarChart chart, Results.Row row, Figures figures, Metric... metrics) {
    for (Metric metric : metrics) {
      Double value = figures.get(metric);
      if (value != null) {
        chart.add(row.scenario(), row.system(), metric.heading, value, metric.decimals);
      }
    }
  }
}
