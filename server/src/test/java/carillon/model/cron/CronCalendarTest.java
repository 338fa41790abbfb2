package carillon.model.cron;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import carillon.model.cron.Recurrence.Reading;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CronCalendarTest {

  private static Timetable timetable(String cron, ZoneId zone) {
    return switch (Recurrence.read(cron, "nightly")) {
      case Reading.Invalid invalid -> fail(cron + ": " + invalid.message());
      case Reading.Valid(Recurrence recurrence) ->
          recurrence.timetable(zone, DstRule.DEFAULT, Instant.EPOCH);
    };
  }

  private static List<LocalDate> days(String cron, String from, int count) {
    Timetable timetable = timetable(cron, ZoneOffset.UTC);
    Instant start = LocalDate.parse(from).atStartOfDay().toInstant(ZoneOffset.UTC).minusSeconds(1);
    return Stream.iterate(
            timetable.next(start).getFirst(), time -> timetable.next(time.at()).getFirst())
        .limit(count)
        .map(time -> time.local().toLocalDate())
        .toList();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // If both day fields are restricted, either may match.
        "0 0 13 * 5   | 2027-01-01 | 2027-01-01 2027-01-08 2027-01-13 2027-01-15 2027-01-22",
        "0 0 29 2 1   | 2027-01-20 | 2027-02-01 2027-02-08 2027-02-15 2027-02-22 2028-02-07",
        "0 0 L * 1#1  | 2027-01-01 | 2027-01-04 2027-01-31 2027-02-01 2027-02-28 2027-03-01",
        // If one of them starts with a star, both must match.
        "0 0 */2 * 5  | 2027-01-01 | 2027-01-01 2027-01-15 2027-01-29 2027-02-05 2027-02-19",
        "0 0 13 * */5 | 2027-01-01 | 2027-06-13 2027-08-13 2028-02-13 2028-08-13 2028-10-13",
        "0 0 * * 5    | 2027-01-01 | 2027-01-01 2027-01-08 2027-01-15 2027-01-22 2027-01-29",
        "0 0 ? * 5    | 2027-01-01 | 2027-01-01 2027-01-08 2027-01-15 2027-01-22 2027-01-29",
        "0 0 13 * ?   | 2027-01-01 | 2027-01-13 2027-02-13 2027-03-13 2027-04-13 2027-05-13",
        "0 0 1-31 * 5 | 2027-01-01 | 2027-01-01 2027-01-02 2027-01-03 2027-01-04 2027-01-05",
        // A Saturday moves to Friday and a Sunday to Monday, but never to another month.
        "0 0 15W * *  | 2027-05-01 | 2027-05-14 2027-06-15 2027-07-15 2027-08-16 2027-09-15",
        "0 0 1W * *   | 2027-05-01 | 2027-05-03 2027-06-01 2027-07-01 2027-08-02 2027-09-01",
        "0 0 31W * *  | 2027-01-01 | 2027-01-29 2027-03-31 2027-05-31 2027-07-30 2027-08-31",
        "0 0 LW * *   | 2027-01-01 | 2027-01-29 2027-02-26 2027-03-31 2027-04-30 2027-05-31",
        "0 0 L * *    | 2027-12-01 | 2027-12-31 2028-01-31 2028-02-29 2028-03-31 2028-04-30",
        "0 0 L-3 * *  | 2027-12-01 | 2027-12-28 2028-01-28 2028-02-26 2028-03-28 2028-04-27",
        "0 0 * * 5#5  | 2027-01-01 | 2027-01-29 2027-04-30 2027-07-30 2027-10-29 2027-12-31",
        "0 0 * * FRIL | 2027-01-01 | 2027-01-29 2027-02-26 2027-03-26 2027-04-30 2027-05-28",
        "0 0 31 * *   | 2027-01-01 | 2027-01-31 2027-03-31 2027-05-31 2027-07-31 2027-08-31",
        "0 0 29 2 *   | 2093-01-01 | 2096-02-29 2104-02-29 2108-02-29 2112-02-29 2116-02-29",
        "0 0 29 2 */7 | 2027-01-01 | 2032-02-29 2060-02-29 2088-02-29 2128-02-29 2156-02-29"
      })
  void day_fields_select_the_expected_days(String cron, String from, String expected) {
    List<LocalDate> days = Stream.of(expected.split(" ")).map(LocalDate::parse).toList();

    assertThat(days(cron, from, days.size())).isEqualTo(days);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0 0 31 2 *",
        "0 0 30 2 *",
        "0 0 30,31 2 *",
        "0 0 31 4,6,9,11 *",
        "* * * 31 2 ?",
        "0 0 31W 2,4,6,9,11 *",
        "0 0 L-29 2 *",
        "0 0 L-30 4 *",
        "0 0 */30 2 2#3",
        "0 0 31 2 */2"
      })
  void an_expression_that_never_fires_is_rejected_quickly(String cron) {
    long start = System.nanoTime();
    for (int i = 0; i < 1_000; i++) {
      assertThat(Recurrence.read(cron, ""))
          .isInstanceOfSatisfying(
              Reading.Invalid.class,
              invalid -> assertThat(invalid.code()).isEqualTo("never_fires"));
    }

    // Generous: a search through all years would take many times as long.
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(60));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "* * * * * *",
        "59 59 23 31 12 *",
        "0 0 29 2 */7",
        "0 0 */28 2 0#5",
        "0 0 L-30 1 */7",
        "59 59 23 29 2 */7",
        "30 2 * * *",
        "0-58/2 1-59/2 * 31W 1 6#5"
      })
  void every_search_is_fast(String cron) {
    for (String zone : List.of("UTC", "Europe/Berlin", "Pacific/Apia", "Africa/Casablanca")) {
      Timetable timetable = timetable(cron, ZoneId.of(zone));
      long start = System.nanoTime();
      for (int i = 0; i < 200; i++) {
        timetable.next(Instant.EPOCH.plus(Duration.ofDays(i * 997L)));
      }

      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(30));
    }
  }

  @Test
  void nominal_times_lie_in_the_years_1_to_9999() {
    Timetable yearly = timetable("@yearly", ZoneOffset.UTC);

    assertThat(yearly.next(Instant.MIN).getFirst().local())
        .isEqualTo(LocalDateTime.of(1, 1, 1, 0, 0));
    assertThat(yearly.next(Instant.parse("9998-12-01T00:00:00Z")).getFirst().local())
        .isEqualTo(LocalDateTime.of(9999, 1, 1, 0, 0));
    assertThat(yearly.next(Instant.parse("9999-01-01T00:00:00Z"))).isEmpty();
    assertThat(yearly.next(Instant.MAX)).isEmpty();
  }
}
