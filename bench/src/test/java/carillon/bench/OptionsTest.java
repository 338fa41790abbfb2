package carillon.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OptionsTest {

  @Test
  void a_full_run_replaces_the_committed_results() {
    assertThat(Options.parse().out()).isEqualTo(Path.of("bench/results"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"--quick", "--only drain", "--systems carillon,sql", "--server --concurrency=1"})
  void a_partial_run_does_not_replace_the_committed_results(String line) {
    Options options = Options.parse(line.split(" ", -1));

    assertThat(options.out()).isEqualTo(Path.of("bench/target/results"));
  }

  @Test
  void a_run_can_be_limited_to_some_systems_and_scenarios() {
    Options options = Options.parse("--only", "drain,bulk", "--systems", "carillon");

    assertThat(options.wants("drain", "carillon")).isTrue();
    assertThat(options.wants("drain", "sql")).isFalse();
    assertThat(options.wants("http", "carillon")).isFalse();
    assertThat(Options.parse().wants("http", "raw")).isTrue();
  }

  @Test
  void nodes_are_measured_only_on_request_and_have_their_own_page() {
    Options options = Options.parse("--only", "nodes");

    assertThat(options.wants("nodes", "carillon-8")).isTrue();
    assertThat(options.wants("drain", "carillon")).isFalse();
    assertThat(options.out()).isEqualTo(Path.of("bench/results"));
    assertThat(Options.parse("--only", "nodes,drain").out())
        .isEqualTo(Path.of("bench/target/results"));
    assertThat(Options.parse().wants("nodes", "carillon-8")).isFalse();
  }

  @Test
  void the_dashboard_is_measured_only_on_request_and_has_its_own_page() {
    Options options = Options.parse("--only", "dashboard");

    assertThat(options.wants("dashboard", "carillon")).isTrue();
    assertThat(options.out()).isEqualTo(Path.of("bench/results"));
    assertThat(Options.parse("--only", "dashboard", "--quick").out())
        .isEqualTo(Path.of("bench/target/results"));
    assertThat(Options.parse().wants("dashboard", "carillon")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"burst-500k", "kafka", "rabbitmq"})
  void a_quick_run_skips_long_scenarios_unless_named(String scenario) {
    assertThat(Options.parse().wants(scenario, "carillon")).isTrue();
    assertThat(Options.parse("--quick").wants(scenario, "carillon")).isFalse();
    assertThat(Options.parse("--quick", "--only", scenario).wants(scenario, "carillon")).isTrue();
  }

  @Test
  void unknown_options_and_missing_values_are_rejected() {
    assertThatThrownBy(() -> Options.parse("--fast")).hasMessage("unknown option --fast");
    assertThatThrownBy(() -> Options.parse("--only")).hasMessage("--only needs a value");
    assertThatThrownBy(() -> Options.parse("--only", "drain,drian"))
        .hasMessageStartingWith("unknown name drian; known: [lateness, drain, ");
    assertThatThrownBy(() -> Options.parse("--systems", "cron"))
        .hasMessageContaining("unknown name cron");
  }
}
