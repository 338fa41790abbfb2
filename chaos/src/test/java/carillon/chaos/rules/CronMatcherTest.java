package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Kind;
import java.time.Instant;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CronMatcherTest {

  @ParameterizedTest
  @CsvSource({
    "*/5 * * * * *, UTC, 2027-01-01T00:00:05Z, true",
    "*/5 * * * * *, UTC, 2027-01-01T00:00:06Z, false",
    "30 2 * * *, Europe/Berlin, 2027-01-01T01:30:00Z, true",
    "30 2 * * *, Europe/Berlin, 2027-01-01T02:30:00Z, false",
    "0 0 1 * 1, UTC, 2027-01-04T00:00:00Z, true",
    "0 0 1 * 1, UTC, 2027-01-01T00:00:00Z, true",
    "0 0 1 * 1, UTC, 2027-01-02T00:00:00Z, false",
    "0 0 * * 7, UTC, 2027-01-03T00:00:00Z, true",
    "'10-20/5,50 0 0 * * *', UTC, 2027-01-01T00:00:15Z, true",
    "'10-20/5,50 0 0 * * *', UTC, 2027-01-01T00:00:50Z, true",
    "'10-20/5,50 0 0 * * *', UTC, 2027-01-01T00:00:25Z, false"
  })
  void a_second_matches_or_not(String cron, String zone, Instant at, boolean matches) {
    Fields put = Fields.of("cron", cron).and("timezone", zone);
    Event event = new Event(1, 0, 0, 1L, Kind.INVOKE, "schedule-put", put);

    assertThat(CronMatcher.of(event).matches(at.getEpochSecond())).isEqualTo(matches);
  }
}
