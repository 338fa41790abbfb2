package carillon.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import carillon.bench.scenarios.Nodes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodesReportTest {

  @TempDir Path directory;

  @Test
  void page_chart_and_figures_are_written() throws IOException {
    Results results = new Results();
    for (int count : Nodes.COUNTS) {
      results.add(
          Nodes.NAME,
          Nodes.system(count),
          new Figures()
              .with(Metric.RATE, 40_000.0 / count)
              .with(Metric.TASK_STATEMENTS, 0.0025)
              .with(Metric.LOCK_WAIT, 1.5)
              .note("lock waits: extend 3 ms"));
    }

    NodesReport.write(results, Map.of("machine", "2 cores"), directory);

    assertThat(Files.readString(directory.resolve("nodes.json")))
        .contains("\"carillon-8\"", "\"lockWaitMicros\" : 1.5");
    assertThat(Files.readString(directory.resolve("nodes.md")))
        .contains("- machine: 2 cores", "| carillon-8 |", "extend 3 ms", "claims and ends");
    assertThat(Files.readString(directory.resolve("nodes.svg")))
        .startsWith("<svg")
        .contains("carillon-3", "40,000");
  }
}
