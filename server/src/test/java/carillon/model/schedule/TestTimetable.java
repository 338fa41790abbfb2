package carillon.model.schedule;

import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Timetables with given times. */
final class TestTimetable {

  private TestTimetable() {}

  static Timetable every(Instant anchor, Duration interval) {
    return after -> {
      long passed =
          after.isBefore(anchor) ? -1 : Duration.between(anchor, after).dividedBy(interval);
      return List.of(time(anchor.plus(interval.multipliedBy(passed + 1))));
    };
  }

  static Timetable of(NominalTime... times) {
    TreeMap<Instant, List<NominalTime>> byTime = new TreeMap<>();
    for (NominalTime time : times) {
      byTime.merge(
          time.at(), List.of(time), (a, b) -> Stream.concat(a.stream(), b.stream()).toList());
    }
    return after -> {
      var next = byTime.higherEntry(after);
      return next == null ? List.of() : next.getValue();
    };
  }

  static NominalTime time(Instant at) {
    return new NominalTime(at, LocalDateTime.ofInstant(at, ZoneOffset.UTC), NominalTime.Shift.NONE);
  }
}
