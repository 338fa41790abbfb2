package carillon.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RatiosTest {

  private final Results results = new Results();

  private void rate(String scenario, String system, double rate) {
    results.add(scenario, system, new Figures().with(Metric.RATE, rate));
  }

  @Test
  void each_scenario_has_its_own_reference() {
    rate("drain", "carillon", 60_000);
    rate("drain", "sql", 80_000);
    rate("drain", "db-scheduler", 10_000);
    rate("lanes", "carillon", 45_000);
    rate("pull", "carillon", 30_000);
    rate("bulk", "carillon", 90_000);
    rate("bulk", "raw", 180_000);
    rate("enqueue", "carillon", 8_000);
    rate("enqueue", "db-scheduler", 10_000);
    results.add("burst", "carillon", new Figures().with(Metric.LAST, 1_200));
    results.add("burst", "graphile-worker", new Figures().with(Metric.LAST, 900));
    Ratios.addTo(results);

    assertThat(ratio("drain", "carillon")).isEqualTo(0.75);
    assertThat(ratio("lanes", "carillon")).isEqualTo(0.75);
    assertThat(ratio("pull", "carillon")).isEqualTo(3);
    assertThat(ratio("bulk", "carillon")).isEqualTo(0.5);
    assertThat(ratio("enqueue", "carillon")).isEqualTo(0.8);
    assertThat(ratio("burst", "carillon")).isEqualTo(0.75);
  }

  @Test
  void a_scenario_without_its_reference_has_no_ratio() {
    rate("drain", "carillon", 60_000);
    rate("http", "carillon", 10_000);
    Ratios.addTo(results);

    assertThat(ratio("drain", "carillon")).isNull();
    assertThat(ratio("http", "carillon")).isNull();
  }

  private @Nullable Double ratio(String scenario, String system) {
    return results.get(scenario, system, Metric.RATIO);
  }
}
