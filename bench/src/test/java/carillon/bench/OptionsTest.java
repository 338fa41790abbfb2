package carillon.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OptionsTest {

  @Test
  void only_a_whole_run_replaces_the_results_that_are_kept() {
    assertThat(Options.parse().out()).isEqualTo(Path.of("bench/results"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"--quick", "--only drain", "--systems carillon,sql", "--server --concurrency=1"})
  void less_than_everything_goes_elsewhere(String line) {
    Options options = Options.parse(line.split(" ", -1));

    assertThat(options.out()).isEqualTo(Path.of("bench/target/results"));
  }

  @Test
  void a_run_may_be_limited_to_some_systems_and_scenarios() {
    Options options = Options.parse("--only", "drain,bulk", "--systems", "carillon");

    assertThat(options.wants("drain", "carillon")).isTrue();
    assertThat(options.wants("drain", "sql")).isFalse();
    assertThat(options.wants("http", "carillon")).isFalse();
    assertThat(Options.parse().wants("http", "raw")).isTrue();
  }

  @Test
  void many_nodes_are_measured_only_on_request_and_kept_on_a_page_of_their_own() {
    Options options = Options.parse("--only", "nodes");

    assertThat(options.wants("nodes", "carillon-8")).isTrue();
    assertThat(options.wants("drain", "carillon")).isFalse();
    assertThat(options.out()).isEqualTo(Path.of("bench/results"));
    assertThat(Options.parse("--only", "nodes,drain").out())
        .isEqualTo(Path.of("bench/target/results"));
    assertThat(Options.parse().wants("nodes", "carillon-8")).isFalse();
  }

  @Test
  void the_dashboard_is_measured_only_on_request_and_kept_on_a_page_of_its_own() {
    Options options = Options.parse("--only", "dashboard");

    assertThat(options.wants("dashboard", "carillon")).isTrue();
    assertThat(options.out()).isEqualTo(Path.of("bench/results"));
    assertThat(Options.parse("--only", "dashboard", "--quick").out())
        .isEqualTo(Path.of("bench/target/results"));
    assertThat(Options.parse().wants("dashboard", "carillon")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"burst-500k", "kafka", "rabbitmq"})
  void what_takes_long_is_no_part_of_a_quick_run_unless_it_is_named(String scenario) {
    assertThat(Options.parse().wants(scenario, "carillon")).isTrue();
    assertThat(Options.parse("--quick").wants(scenario, "carillon")).isFalse();
    assertThat(Options.parse("--quick", "--only", scenario).wants(scenario, "carillon")).isTrue();
  }

  @Test
  void what_is_unknown_or_lacks_a_value_is_refused() {
    assertThatThrownBy(() -> Options.parse("--fast")).hasMessage("unknown option --fast");
    assertThatThrownBy(() -> Options.parse("--only")).hasMessage("--only needs a value");
    assertThatThrownBy(() -> Options.parse("--only", "drain,drian"))
        .hasMessageStartingWith("there is no drian, only [lateness, drain, ");
    assertThatThrownBy(() -> Options.parse("--systems", "cron")).hasMessageContaining("no cron");
  }
}
