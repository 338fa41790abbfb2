package carillon.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationsTest {

  @ParameterizedTest
  @CsvSource({
    "500ms, PT0.5S",
    "0s, PT0S",
    "30s, PT30S",
    "5m, PT5M",
    "2h, PT2H",
    "7d, P7D",
    "007d, P7D",
    "PT1H30M, PT1H30M",
    "P2DT3H, P2DT3H",
    "pt0.25s, PT0.25S",
    "PT0S, PT0S",
  })
  void units_and_iso_8601_are_parsed(String text, Duration expected) {
    assertThat(Durations.parse(text)).contains(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "99999999999999999999d",
        "36501d",
        "P99999D",
        "PT99999999999999999999S",
        "9223372036854775807ms"
      })
  void longer_durations_are_capped_at_the_maximum(String text) {
    assertThat(Durations.parse(text)).contains(Durations.MAX);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "5",
        "s",
        "5 s",
        " 5s",
        "5s ",
        "-5s",
        "+5s",
        "5S",
        "1.5s",
        "1h30m",
        "5w",
        "PT-5S",
        "-PT5S",
        "PT1H-30M",
        "P1Y",
        "PT",
        "P",
        "٥s",
        "5s\n",
        "0x5s",
        "1e3s",
        "PT0.0000000001S"
      })
  void other_texts_are_rejected(String text) {
    assertThat(Durations.parse(text)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "PT0S, 0s",
    "PT0.011S, 11ms",
    "PT1.5S, 1500ms",
    "PT90S, 90s",
    "PT10M, 10m",
    "PT90M, 90m",
    "PT36H, 36h",
    "PT168H, 7d",
    "PT0.0000001S, PT0.0000001S"
  })
  void a_duration_is_formatted_in_the_largest_unit_that_divides_it(Duration duration, String text) {
    assertThat(Durations.format(duration)).isEqualTo(text);
    assertThat(Durations.parse(text)).contains(duration);
  }

  @Test
  void an_overlong_text_is_rejected() {
    assertThat(Durations.parse("1".repeat(1_000_000) + "s")).isEmpty();
  }

  @Test
  void the_maximum_fits_into_a_long_of_nanoseconds() {
    assertThat(Durations.MAX.toNanos()).isPositive();
  }
}
