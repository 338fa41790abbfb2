package carillon.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DashboardReportTest {

  @TempDir Path directory;

  @Test
  void page_chart_figures_and_plans_are_written() throws IOException {
    Results results = new Results();
    results.add(
        "Tasks",
        "/v1/tasks?limit=50",
        new Figures().with(Metric.FIRST, 31).with(Metric.P50, 2.5).with(Metric.MAX, 31));
    results.add(
        "50 open tabs",
        "idle",
        new Figures()
            .with(Metric.WITHOUT, 1.2)
            .with(Metric.WITH, 1.7)
            .with(Metric.DIFFERENCE, 0.5));

    DashboardReport.write(results, Map.of("commit", "abc"), "## GET /v1/tasks\n", directory);

    assertThat(Files.readString(directory.resolve("dashboard.json")))
        .contains("\"/v1/tasks?limit=50\"", "\"coreDifference\" : 0.5");
    assertThat(Files.readString(directory.resolve("dashboard.md")))
        .contains("- commit: abc", "| /v1/tasks?limit=50 |", "| idle ", "difference");
    assertThat(Files.readString(directory.resolve("dashboard.svg"))).contains("Tasks", "31.0");
    assertThat(Files.readString(directory.resolve("dashboard-plans.md")))
        .contains("Commit: abc", "## GET /v1/tasks");
  }
}
