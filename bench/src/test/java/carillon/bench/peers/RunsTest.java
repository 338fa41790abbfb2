package carillon.bench.peers;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class RunsTest {

  private final Runs runs = new Runs();

  @Test
  void every_run_counts_but_only_expected_ones_are_timed() {
    runs.ran(Instant.now());
    runs.expect(2, Instant.now());
    runs.ran(Instant.now());

    assertThat(runs.finished()).isEqualTo(2);
    assertThat(runs.lateMillis()).hasSize(1);
  }

  @Test
  void lateness_counts_from_the_due_time_and_the_end_from_the_earliest_due_time() {
    Instant earliest = Instant.now().minusSeconds(20);
    runs.expect(2, earliest);
    runs.ran(earliest.plusSeconds(10));
    runs.ran(earliest.plusSeconds(15));

    assertThat(runs.lateMillis()[0]).isBetween(5_000.0, 8_000.0);
    assertThat(runs.lateMillis()[1]).isBetween(10_000.0, 13_000.0);
    assertThat(runs.firstMillis()).isBetween(20_000.0, 23_000.0);
    assertThat(runs.lastMillis()).isBetween(runs.firstMillis(), 23_000.0);
  }

  @Test
  void a_run_beyond_the_expected_number_is_not_timed() {
    runs.expect(1, Instant.now());
    runs.ran(Instant.now());
    runs.ran(Instant.now());

    assertThat(runs.lateMillis()).hasSize(1);
    assertThat(runs.finished()).isEqualTo(2);
  }
}
