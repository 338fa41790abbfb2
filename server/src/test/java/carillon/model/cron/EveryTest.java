package carillon.model.cron;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.cron.Recurrence.Reading;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EveryTest {

  private static final Instant ANCHOR = Instant.parse("2027-03-28T00:30:00Z");

  private static Timetable every(Duration interval) {
    return new Every(interval).timetable(ZoneId.of("Europe/Berlin"), DstRule.DEFAULT, ANCHOR);
  }

  @ParameterizedTest
  @CsvSource({
    "2020-01-01T00:00:00Z, 2027-03-28T00:30:00Z",
    "2027-03-28T00:29:59.999Z, 2027-03-28T00:30:00Z",
    "2027-03-28T00:30:00Z, 2027-03-28T00:31:30Z",
    "2027-03-28T00:31:29.999999Z, 2027-03-28T00:31:30Z",
    "2027-03-28T00:31:30Z, 2027-03-28T00:33:00Z",
    "2099-01-01T00:00:00Z, 2099-01-01T00:01:30Z"
  })
  void an_interval_fires_at_the_anchor_and_then_regularly(Instant after, Instant next) {
    assertThat(every(Duration.ofSeconds(90)).next(after))
        .singleElement()
        .isEqualTo(
            new NominalTime(
                next,
                next.atZone(ZoneId.of("Europe/Berlin")).toLocalDateTime(),
                NominalTime.Shift.NONE));
  }

  @Test
  void an_interval_fires_until_the_year_9999() {
    assertThat(every(Every.MAX).next(Instant.parse("9999-12-31T00:00:00Z"))).isEmpty();
    assertThat(every(Every.MIN).next(Instant.MAX)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"1s, true", "366d, true", "999ms, false", "367d, false", "often, false"})
  void an_interval_is_a_second_to_366_days(String text, boolean valid) {
    assertThat(Recurrence.readEvery(text) instanceof Reading.Valid).isEqualTo(valid);
    assertThat(Recurrence.readEvery(text)).isEqualTo(Recurrence.read("@every " + text, ""));
  }
}
