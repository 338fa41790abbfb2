package carillon.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class ReportTest {

  private static Results results() {
    Results results = new Results();
    results.add(
        "drain",
        "carillon",
        new Figures().with(Metric.RATE, 45_678.4).with(Metric.CPU_CLIENT, 0.25));
    results.add("drain", "sql", new Figures().with(Metric.RATE, 90_000));
    results.add(
        "lateness",
        "carillon",
        new Figures().with(Percentiles.ofMillis(new double[] {0.04, 2, 12.5})));
    return results;
  }

  @Test
  void json_is_scenario_system_metric() {
    JsonNode json = JsonMapper.builder().build().readTree(Report.json(results()));

    assertThat(json.at("/drain/carillon/rate").asDouble()).isEqualTo(45_678.4);
    assertThat(json.at("/drain/sql/rate").asDouble()).isEqualTo(90_000);
    assertThat(json.at("/lateness/carillon/maxMs").asDouble()).isEqualTo(12.5);
    assertThat(json.at("/lateness/carillon").has("rate")).isFalse();
  }

  @Test
  void the_table_has_a_row_for_each_and_lines_up() {
    String[] lines = Report.table(results()).split("\n", -1);

    assertThat(lines).hasSize(6);
    assertThat(lines[0]).startsWith("| scenario | system   | tasks/s |");
    assertThat(lines[1]).startsWith("|----------|----------|--------:|");
    assertThat(lines[2]).startsWith("| drain    | carillon |  45,678 |");
    assertThat(lines[4]).startsWith("| lateness | carillon |         |");
    assertThat(lines[2]).hasSameSizeAs(lines[0]);
  }

  @Test
  void the_page_says_when_where_and_how() {
    String page =
        Report.page(
            results(), Map.of("date", "2026-11-15"), Map.of("fsync", "on"), "How it is done.\n");

    assertThat(page)
        .contains(
            "- date: 2026-11-15\n", "- PostgreSQL: fsync on\n", "How it is done.", "rate.svg");
  }

  @Test
  void charts_are_well_formed() throws Exception {
    for (String svg : Report.charts(results()).values()) {
      Document chart =
          DocumentBuilderFactory.newInstance()
              .newDocumentBuilder()
              .parse(new InputSource(new StringReader(svg)));
      assertThat(chart.getDocumentElement().getTagName()).isEqualTo("svg");
    }
  }

  @Test
  void the_longest_bar_fills_the_chart_and_small_times_have_none() {
    BarChart linear = new BarChart("a < b", false);
    linear.add("drain", "tasks/s", 50, 0);
    linear.add("limit", "tasks/s", 100, 0);
    BarChart logarithmic = new BarChart("ms", true);
    logarithmic.add("lateness", "p50", 0.05, 1);

    assertThat(linear.svg()).contains("width=\"240.0\"", "width=\"480.0\"", "a &lt; b");
    assertThat(logarithmic.svg()).contains("width=\"0.0\"");
  }
}
