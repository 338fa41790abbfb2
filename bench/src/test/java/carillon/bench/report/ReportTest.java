package carillon.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Percentiles;
import carillon.bench.figures.Results;
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
        new Figures().with(Percentiles.ofMillis(new double[] {0.04, 2, 12.5}).times()));
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
  void each_scenario_has_an_aligned_table() {
    String[] lines = Report.tables(results()).split("\n", -1);

    assertThat(lines[0]).isEqualTo("## drain");
    assertThat(lines[2]).isEqualTo("| system   | tasks/s | CPU program |");
    assertThat(lines[3]).isEqualTo("|----------|--------:|------------:|");
    assertThat(lines[4]).isEqualTo("| carillon |  45,678 |        0.25 |");
    assertThat(lines[5]).isEqualTo("| sql      |  90,000 |             |");
    assertThat(lines[7]).isEqualTo("## lateness");
  }

  @Test
  void failed_and_skipped_systems_are_reported_but_not_in_the_json() {
    Results results = results();
    results.failed("drain", "quartz", "it ended");
    results.skipped("drain", "bullmq", "no Redis");
    results.add("drain", "jobrunr", new Figures().with(Metric.RATE, 9).note("only 5 of 7"));

    assertThat(results.hasFailed()).isTrue();
    assertThat(Report.tables(results))
        .contains("| quartz   |  FAILED |")
        .contains(
            "- quartz: FAILED: it ended\n",
            "- bullmq: skipped: no Redis\n",
            "- jobrunr: only 5 of 7\n");
    JsonNode json = JsonMapper.builder().build().readTree(Report.json(results));
    assertThat(json.at("/drain").has("quartz")).isFalse();
    assertThat(json.at("/drain/jobrunr/rate").asDouble()).isEqualTo(9);
  }

  @Test
  void the_page_has_date_settings_and_notes() {
    Results results = results();
    results.settings("sql", "a loop");
    results.missing("bullmq", "npm is not installed");
    results.add("pull", "carillon", new Figures().with(Metric.OTHER, 0.4));

    String page =
        Report.page(
            results,
            Map.of("date", "2026-11-15"),
            Map.of("fsync", "on"),
            500_000,
            "How it is done.\n");

    assertThat(page)
        .contains(
            "**BULLMQ WAS NOT RUN: npm is not installed.**",
            "- date: 2026-11-15\n",
            "- PostgreSQL, the same for all: fsync on\n",
            "## Targets",
            "of sql ≥ 0.60 ×",
            "not comparable: pull of carillon.**",
            "(../README.md)",
            "- sql: a loop\n",
            "How it is done.",
            "rate.svg");
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
  void the_longest_bar_of_a_group_has_full_width_and_tiny_times_have_no_width() {
    BarChart linear = new BarChart("a < b", BarChart.Scale.OF_GROUP);
    linear.add("drain", "carillon", "tasks/s", 50, 0);
    linear.add("drain", "sql", "tasks/s", 100, 0);
    linear.add("http", "carillon", "tasks/s", 5, 0);
    BarChart logarithmic = new BarChart("ms", BarChart.Scale.LOGARITHMIC);
    logarithmic.add("lateness", "carillon", "p50", 0.05, 1);

    assertThat(linear.svg()).contains("width=\"260.0\"", "a &lt; b");
    assertThat(linear.svg().split("width=\"520.0\"", -1)).hasSize(3);
    assertThat(logarithmic.svg()).contains("width=\"0.0\"");
  }

  @Test
  void a_time_before_the_due_time_has_no_bar() {
    BarChart chart = new BarChart("ms", BarChart.Scale.LOGARITHMIC);
    chart.add("lateness", "jobrunr", "p50", -4_800, 1);
    chart.add("lateness", "jobrunr", "max", 100, 1);

    assertThat(chart.svg()).contains("width=\"0.0\"", "-4,800.0");
  }
}
