package carillon.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import carillon.bench.figures.Times;
import carillon.bench.scenarios.BigBurst;
import java.util.List;
import org.junit.jupiter.api.Test;

class TargetsTest {

  private final Results results = new Results();

  private List<String> row(String scenario, String what) {
    return Targets.rows(results, 500_000).stream()
        .filter(row -> row.getFirst().equals(scenario) && row.get(1).contains(what))
        .findFirst()
        .orElseThrow();
  }

  private void rate(String scenario, String system, double rate) {
    results.add(scenario, system, new Figures().with(Metric.RATE, rate));
  }

  @Test
  void a_ratio_must_reach_its_lower_bound() {
    rate("drain", "carillon", 70_000);
    rate("drain", "db-scheduler", 10_000);
    rate("drain", "graphile-worker", 80_000);
    rate("drain", "sql", 140_000);

    assertThat(row("drain", "db-scheduler"))
        .containsExactly("drain", "of db-scheduler ≥ 6.00 ×", "7.00 ×", "yes", "", "", "");
    assertThat(row("drain", "graphile-worker"))
        .containsExactly(
            "drain", "of graphile-worker ≥ 0.80 ×", "0.88 ×", "yes", "≥ 1.10 ×", "**no**", "");
    assertThat(row("drain", "sql").get(3)).isEqualTo("**no**");
  }

  @Test
  void each_broker_has_its_own_target_rate() {
    rate("kafka", "carillon", 19_000);
    rate("rabbitmq", "carillon", 8_100);

    assertThat(row("kafka", "20,000").get(3)).isEqualTo("**no**");
    assertThat(row("rabbitmq", "8,000").get(3)).isEqualTo("yes");
  }

  @Test
  void lateness_must_not_exceed_its_upper_bound() {
    results.add("lateness", "carillon", new Figures().with(new Times(1, 4, 60)));

    assertThat(row("lateness", "p99"))
        .containsExactly("lateness", "p99 ≤ 5.0 ms", "4.0 ms", "yes", "≤ 3.0 ms", "**no**", "");
    assertThat(row("lateness", "max").get(3)).isEqualTo("**no**");
  }

  @Test
  void the_drains_around_a_big_burst_determine_its_limit() {
    rate("drain", "carillon", 10_000);
    results.add(
        BigBurst.NAME,
        "carillon",
        new Figures().with(Metric.P999, 10_900).with(Metric.BASE, 50_000));
    results.add(BigBurst.NAME, "carillon-others", new Figures().with(new Times(5, 101, 200)));

    assertThat(row(BigBurst.NAME, "p99.9 start delay of 500,000 tasks"))
        .contains("10,900 ms", "yes")
        .anySatisfy(cell -> assertThat(cell).endsWith("≤ 10,990 ms"));
    assertThat(row(BigBurst.NAME, "another tenant").get(3)).isEqualTo("**no**");
  }

  @Test
  void memory_is_the_maximum_of_all_scenarios() {
    results.add("drain", "carillon", new Figures().with(Metric.RSS_PEAK, 280));
    results.add("http", "carillon", new Figures().with(Metric.RSS_PEAK, 320));
    results.add("drain", "pg-boss", new Figures().with(Metric.RSS_PEAK, 900));

    assertThat(row("all scenarios", "memory"))
        .containsSequence("320 MB", "yes", "≤ 300 MB", "**no**");
  }

  @Test
  void a_target_with_a_disturbed_source_is_in_brackets() {
    rate("drain", "carillon", 70_000);
    rate("drain", "db-scheduler", 10_000);
    results.add(
        "drain",
        "graphile-worker",
        new Figures().with(Metric.RATE, 80_000).with(Metric.OTHER, 0.11));

    assertThat(row("drain", "graphile-worker"))
        .endsWith("(yes)", "≥ 1.10 ×", "(no)", "drain of graphile-worker");
    assertThat(row("drain", "db-scheduler")).endsWith("yes", "", "", "");
  }

  @Test
  void a_target_without_a_measurement_is_neither_reached_nor_missed() {
    List<List<String>> rows = Targets.rows(results, 500_000);

    assertThat(rows).hasSizeGreaterThan(15);
    assertThat(rows.stream().skip(1)).allSatisfy(row -> assertThat(row).contains("not measured"));
    assertThat(rows.stream().skip(1).flatMap(List::stream)).doesNotContain("yes", "**no**");
  }
}
