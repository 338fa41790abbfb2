package carillon.model.task;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LatenessTest {

  private static final Instant READY = Instant.parse("2027-01-31T23:59:59.999999999Z");

  @ParameterizedTest
  @CsvSource({
    "PT-5S, 0",
    "PT0S, 0",
    "PT0.001S, 0",
    "PT0.001000001S, 1",
    "PT0.002S, 1",
    "PT0.5S, 8",
    "PT1S, 9",
    "PT59S, 13",
    "PT60S, 13",
    "PT60.000000001S, 14",
    "PT10000000000S, 14"
  })
  void a_bucket_holds_delays_up_to_its_bound(Duration late, int bucket) {
    assertThat(Lateness.bucket(READY, READY.plus(late))).isEqualTo(bucket);
  }

  @ParameterizedTest
  @CsvSource({
    "0.5, PT0.002S",
    "0.51, PT0.01S",
    "0.99, PT0.01S",
    "1, PT1M", // beyond the last bound: at least that
    "0, PT0.002S"
  })
  void a_percentile_is_the_bound_of_its_bucket(double share, Duration bound) {
    long[] buckets = new long[Lateness.BUCKETS];
    buckets[1] = 500;
    buckets[3] = 490;
    buckets[14] = 10;

    assertThat(Lateness.percentile(buckets, share)).isEqualTo(bound);
  }

  @Test
  void an_empty_histogram_has_no_percentile() {
    @Nullable Duration none = Lateness.percentile(new long[Lateness.BUCKETS], 0.5);

    assertThat(none).isNull();
  }

  @Test
  void counts_can_be_added_and_scaled() {
    Counts counts = new Counts();
    for (int i = 0; i < 10; i++) {
      counts.addStarted(READY, READY.plusMillis(i * 100L));
      counts.add(Counts.Kind.COMPLETED);
    }
    counts.add(Counts.of(new long[Counts.NUMBERS]));
    counts.add(Counts.Kind.DEAD);

    assertThat(counts.of(Counts.Kind.STARTED)).isEqualTo(10);
    assertThat(counts.ended()).isEqualTo(11);
    assertThat(counts.late(0.5)).isEqualTo(Duration.ofMillis(500));
    assertThat(counts.share(0.5).of(Counts.Kind.COMPLETED)).isEqualTo(5);
    assertThat(counts.share(0).isEmpty()).isTrue();
    assertThat(new Counts().isEmpty()).isTrue();
  }
}
