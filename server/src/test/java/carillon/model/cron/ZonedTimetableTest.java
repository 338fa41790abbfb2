package carillon.model.cron;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.cron.DstRule.Gap;
import carillon.model.cron.DstRule.Overlap;
import carillon.model.cron.NominalTime.Shift;
import carillon.model.cron.Recurrence.Reading;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ZonedTimetableTest {

  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");
  private static final ZoneId APIA = ZoneId.of("Pacific/Apia");
  private static final ZoneId LORD_HOWE = ZoneId.of("Australia/Lord_Howe");

  private static List<NominalTime> times(
      String cron, ZoneId zone, DstRule dst, String after, String until) {
    Reading.Valid valid = (Reading.Valid) Recurrence.read(cron, "");
    Timetable timetable = valid.recurrence().timetable(zone, dst, Instant.EPOCH);
    List<NominalTime> times = new ArrayList<>();
    List<NominalTime> next = timetable.next(Instant.parse(after));
    while (!next.getFirst().at().isAfter(Instant.parse(until))) {
      times.addAll(next);
      next = timetable.next(next.getFirst().at());
    }
    return times;
  }

  private static List<String> inSpring(String cron, Gap gap) {
    return described(
        times(
            cron,
            BERLIN,
            new DstRule(gap, Overlap.FIRST),
            "2027-03-28T00:00:00Z",
            "2027-03-28T02:00:00Z"));
  }

  private static List<String> inAutumn(String cron, Overlap overlap) {
    return described(
        times(
            cron,
            BERLIN,
            new DstRule(Gap.SHIFT, overlap),
            "2027-10-30T23:00:00Z",
            "2027-10-31T02:30:00Z"));
  }

  private static List<String> described(List<NominalTime> times) {
    return times.stream()
        .map(
            time ->
                "%s %s %s"
                    .formatted(
                        time.at().toString().substring(11, 16),
                        time.local().toLocalTime(),
                        time.shift()))
        .toList();
  }

  @Test
  void a_time_in_the_gap_fires_when_the_gap_ends() {
    assertThat(inSpring("30 2 * * *", Gap.SHIFT)).containsExactly("01:00 02:30 GAP_SHIFTED");
  }

  @Test
  void a_time_in_the_gap_is_skipped_if_configured() {
    assertThat(inSpring("30 2 * * *", Gap.SKIP)).containsExactly("01:00 02:30 GAP_SKIPPED");
  }

  @Test
  void several_times_in_the_gap_fire_once() {
    assertThat(inSpring("10,30,50 2 * * *", Gap.SHIFT)).containsExactly("01:00 02:10 GAP_SHIFTED");
    assertThat(inSpring("10,30,50 2 * * *", Gap.SKIP))
        .containsExactly(
            "01:00 02:10 GAP_SKIPPED", "01:00 02:30 GAP_SKIPPED", "01:00 02:50 GAP_SKIPPED");
  }

  @Test
  void a_time_in_the_gap_and_one_at_its_end_fire_once() {
    assertThat(inSpring("0,30 2,3 * * *", Gap.SHIFT))
        .containsExactly("01:00 03:00 NONE", "01:30 03:30 NONE");
    assertThat(inSpring("0,30 2,3 * * *", Gap.SKIP))
        .containsExactly(
            "01:00 02:00 GAP_SKIPPED",
            "01:00 02:30 GAP_SKIPPED",
            "01:00 03:00 NONE",
            "01:30 03:30 NONE");
  }

  @Test
  void the_gap_includes_its_start_and_excludes_its_end() {
    assertThat(inSpring("0 2 * * *", Gap.SHIFT)).containsExactly("01:00 02:00 GAP_SHIFTED");
    assertThat(inSpring("0 3 * * *", Gap.SHIFT)).containsExactly("01:00 03:00 NONE");
    assertThat(inSpring("59 59 1 * * *", Gap.SHIFT)).containsExactly("00:59 01:59:59 NONE");
  }

  @Test
  void a_time_that_happens_twice_fires_as_configured() {
    assertThat(inAutumn("30 2 * * *", Overlap.FIRST)).containsExactly("00:30 02:30 FIRST_OF_TWO");
    assertThat(inAutumn("30 2 * * *", Overlap.LAST)).containsExactly("01:30 02:30 SECOND_OF_TWO");
    assertThat(inAutumn("30 2 * * *", Overlap.BOTH))
        .containsExactly("00:30 02:30 FIRST_OF_TWO", "01:30 02:30 SECOND_OF_TWO");
  }

  @Test
  void wildcards_do_not_fire_twice_in_the_repeated_hour() {
    assertThat(inAutumn("*/30 * * * *", Overlap.FIRST))
        .containsExactly(
            "23:30 01:30 NONE",
            "00:00 02:00 FIRST_OF_TWO",
            "00:30 02:30 FIRST_OF_TWO",
            "02:00 03:00 NONE",
            "02:30 03:30 NONE");
    assertThat(inAutumn("*/30 * * * *", Overlap.LAST))
        .containsExactly(
            "23:30 01:30 NONE",
            "01:00 02:00 SECOND_OF_TWO",
            "01:30 02:30 SECOND_OF_TWO",
            "02:00 03:00 NONE",
            "02:30 03:30 NONE");
  }

  @Test
  void a_skipped_calendar_day_is_a_gap_of_a_day() {
    DstRule skip = new DstRule(Gap.SKIP, Overlap.FIRST);

    assertThat(
            times(
                "0 12 * * *",
                APIA,
                DstRule.DEFAULT,
                "2011-12-29T12:00:00Z",
                "2011-12-31T00:00:00Z"))
        .extracting(NominalTime::shift)
        .containsExactly(Shift.NONE, Shift.GAP_SHIFTED, Shift.NONE);
    assertThat(times("0 */6 30 12 *", APIA, skip, "2011-12-01T00:00:00Z", "2012-01-31T00:00:00Z"))
        .hasSize(4)
        .allMatch(time -> time.at().equals(Instant.parse("2011-12-30T10:00:00Z")) && !time.fires());
  }

  @Test
  void every_second_of_a_skipped_day_is_listed() {
    Reading.Valid valid = (Reading.Valid) Recurrence.read("* * * * * *", "");
    Timetable timetable =
        valid.recurrence().timetable(APIA, new DstRule(Gap.SKIP, Overlap.FIRST), Instant.EPOCH);
    Instant before = Instant.parse("2011-12-30T09:59:59Z");

    assertThat(timetable.next(before)).hasSize(86_401);
  }

  @Test
  void notes_explain_the_clock_change() {
    DstRule skip = new DstRule(Gap.SKIP, Overlap.FIRST);
    assertThat(notes("30 2 28 3 *", BERLIN, DstRule.DEFAULT, "2027-03-01", "2027-04-01"))
        .containsExactly(
            "02:30 does not exist on this day: clocks go forward from 02:00 to 03:00; fires when"
                + " the gap ends");
    assertThat(notes("15 30 2 28 3 *", BERLIN, skip, "2027-03-01", "2027-04-01"))
        .containsExactly(
            "02:30:15 does not exist on this day: clocks go forward from 02:00 to 03:00; skipped");
    assertThat(notes("30 2 31 10 *", BERLIN, DstRule.DEFAULT, "2027-10-01", "2027-11-01"))
        .containsExactly("02:30 happens twice on this day; fires the first time");
    assertThat(
            notes(
                "30 2 31 10 *",
                BERLIN,
                new DstRule(Gap.SHIFT, Overlap.LAST),
                "2027-10-01",
                "2027-11-01"))
        .containsExactly("02:30 happens twice on this day; fires the second time");
    assertThat(
            notes(
                "45 1 * 4 0#1",
                LORD_HOWE,
                new DstRule(Gap.SHIFT, Overlap.BOTH),
                "2027-04-01",
                "2027-05-01"))
        .containsExactly(
            "01:45 happens twice on this day; fires both times, this is the first",
            "01:45 happens twice on this day; fires both times, this is the second");
    assertThat(notes("0 12 30 12 *", APIA, DstRule.DEFAULT, "2011-12-01", "2012-01-01"))
        .containsExactly(
            "2011-12-30 12:00 does not exist: clocks go forward from 2011-12-30 00:00 to 2011-12-31"
                + " 00:00; fires when the gap ends");
    assertThat(notes("0 12 1 1 *", BERLIN, DstRule.DEFAULT, "2027-01-01", "2027-02-01"))
        .containsExactly("");
  }

  private static List<String> notes(String cron, ZoneId zone, DstRule dst, String from, String to) {
    return times(cron, zone, dst, from + "T00:00:00Z", to + "T00:00:00Z").stream()
        .map(time -> time.note(zone, dst))
        .map((Optional<String> note) -> note.orElse(""))
        .toList();
  }
}
