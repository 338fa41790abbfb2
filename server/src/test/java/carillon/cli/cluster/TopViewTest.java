package carillon.cli.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopViewTest {

  private static final String BEFORE =
      """
      # HELP carillon_claimer_claimed_total claimed
      # TYPE carillon_claimer_claimed_total counter
      carillon_claimer_claimed_total 1000.0
      carillon_deliveries_total{result="accepted"} 900
      carillon_deliveries_total{result="failed",node="a\\"b"} 5
      carillon_lateness_seconds_bucket{le="0.1"} 10
      carillon_lateness_seconds_bucket{le="1.0"} 10
      carillon_lateness_seconds_bucket{le="+Inf"} 10
      """;

  private static final String NOW =
      """
      carillon_claimer_claimed_total 3000
      carillon_created_tasks_total 42
      carillon_deliveries_total{result="accepted"} 2_bad
      carillon_deliveries_total{result="accepted"} 1900
      carillon_deliveries_total{result="failed",node="a\\"b"} 6
      carillon_outcomes_total{outcome="completed"} 3
      carillon_lateness_seconds_bucket{le="0.1"} 110
      carillon_lateness_seconds_bucket{le="1.0"} 210
      carillon_lateness_seconds_bucket{le="+Inf"} 210
      carillon_backlog_due 12345
      carillon_backlog_oldest_seconds 3.21
      carillon_in_flight{node="a"} 200
      carillon_seats 512
      carillon_completer_fenced_total 1
      carillon_pool_active 3
      carillon_pool_idle 9
      carillon_pool_pending NaN
      """;

  private static TopView view(String before, String now) {
    return new TopView(Metrics.parse(before), Metrics.parse(now), Duration.ofSeconds(2));
  }

  @Test
  void a_terminal_gets_rates_counts_and_percentiles() {
    assertThat(view(BEFORE, NOW.replace("2_bad", "0")).lines())
        .containsExactly(
            "created     21/s",
            "claimed     1,000/s",
            "delivered   501/s  accepted 500  failed 0.5",
            "outcomes    1.5/s  completed 1.5",
            "start delay p50 100ms  p95 910ms  p99 982ms",
            "backlog     12,345 due, oldest 3.2s",
            "in flight   200 of 512",
            "fenced      1",
            "pool        3 active  9 idle  0 waiting");
  }

  @Test
  void suspects_are_shown_if_there_are_any() {
    String suspects =
        NOW
            + "carillon_suspects{state=\"waiting\"} 466\n"
            + "carillon_suspects{state=\"running\"} 23\n";

    assertThat(view(BEFORE, suspects).lines()).contains("suspects    466 waiting  23 running");
  }

  @Test
  void an_invalid_number_is_ignored() {
    assertThat(view(BEFORE, NOW).lines()).contains("delivered   501/s  accepted 500  failed 0.5");
  }

  @Test
  void the_short_form_is_one_line() {
    assertThat(view(BEFORE, NOW).line())
        .startsWith("created/s=21 claimed/s=1,000")
        .doesNotContain("\n");
  }

  @Test
  void a_restarted_server_counts_from_zero() {
    assertThat(view(/* before= */ NOW, /* now= */ BEFORE).lines()).contains("claimed     500/s");
  }

  @Test
  void a_missing_value_is_a_dash() {
    assertThat(view("", "").lines()).contains("start delay p50 -  p95 -  p99 -");
  }

  @ParameterizedTest
  @CsvSource({"0.1, 0.1", "0.5, 0.5", "0.75, 1.0", "0.9, 1.0", "1.0, 1.0"})
  void a_quantile_is_linear_within_its_bucket_and_ends_at_the_last_bound(
      double quantile, double expected) {
    var buckets = new TreeMap<>(Map.of(0.5, 50.0, 1.0, 75.0, Double.POSITIVE_INFINITY, 100.0));

    assertThat(TopView.quantile(buckets, quantile)).isEqualTo(expected, within(1e-9));
  }
}
