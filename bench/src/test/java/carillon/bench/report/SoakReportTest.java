package carillon.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.bench.figures.Sample;
import java.io.StringReader;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;

class SoakReportTest {

  private static final List<Sample> SAMPLES =
      List.of(
          sample(1, false, 100), sample(2, true, 200), sample(3, true, 300), sample(4, false, 0));

  private static Sample sample(double minute, boolean isSnapshotHeld, double rate) {
    Sample sample = new Sample().with("minute", minute).with("snapshot", isSnapshotHeld ? 1 : 0);
    sample.with("created", minute * 6_000).with("task_hot", 90).with("task_updated", 100);
    for (String column : List.of("created_per_s", "completed_per_s", "waiting", "oldest_s")) {
      sample.with(column, rate);
    }
    for (String table : List.of("task", "queue", "claim")) {
      for (String column :
          List.of("heap_mb", "indexes_mb", "toast_mb", "dead", "toast_dead", "autovacuums")) {
        sample.with(table + "_" + column, minute);
      }
    }
    for (String column :
        List.of(
            "server_rss_mb", "server_cores", "postgres_cores", "load_average", "wal_mb_per_s")) {
      sample.with(column, minute);
    }
    return sample;
  }

  @Test
  void the_time_with_the_snapshot_is_a_phase_of_its_own() {
    String page = SoakReport.page(SAMPLES, Map.of("commit", "abc"), List.of());

    assertThat(page)
        .contains("- commit: abc", "90.0 % of its updates were HOT")
        .doesNotContain("FAILED");
    assertThat(page.lines().filter(line -> line.startsWith("| ")).map(SoakReportTest::cells))
        .containsExactly(
            "phase,minutes,created/s", "before,1,100", "snapshot held,3,250", "after,4,0");
  }

  private static String cells(String line) {
    String[] cells = line.split(" *\\| *", -1);
    return String.join(",", cells[1], cells[2], cells[3]);
  }

  @Test
  void a_failure_is_at_the_top_even_without_samples() {
    assertThat(SoakReport.page(List.of(), Map.of(), List.of("it stopped")))
        .startsWith("# One node under a steady load\n\n**FAILED: it stopped.**");
  }

  @Test
  void the_chart_has_a_line_for_each_column() throws Exception {
    Document chart =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new InputSource(new StringReader(SoakReport.chart(SAMPLES, 2, 3))));

    assertThat(chart.getElementsByTagName("polyline").getLength()).isEqualTo(23);
    assertThat(chart.getElementsByTagName("text").item(0).getTextContent()).contains("snapshot");
  }
}
