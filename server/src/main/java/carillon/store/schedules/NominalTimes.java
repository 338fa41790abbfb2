package carillon.store.schedules;

import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import carillon.model.schedule.Schedule;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * Some of the nominal times of a range, in order; all of an instant or none.
 *
 * @param upTo all up to and including this one are among them
 * @param isOver whether the range has no others
 */
record NominalTimes(List<NominalTime> times, Instant upTo, boolean isOver) {

  NominalTimes {
    times = List.copyOf(times);
  }

  /**
   * Those after the one time and up to the other, while the schedule has begun and not ended.
   *
   * @param most it ends with the instant that has so many together
   * @param patience it ends early after so long: no expression may keep a transaction open
   */
  static NominalTimes of(
      Schedule schedule,
      Timetable timetable,
      Instant after,
      Instant to,
      int most,
      Duration patience) {
    Instant start = schedule.startAt();
    Instant end = schedule.endAt();
    Instant last = end == null || end.isAfter(to) ? to : end;
    Instant cursor = start == null || start.isBefore(after) ? after : start.minusNanos(1);
    long begun = System.nanoTime();
    List<NominalTime> times = new ArrayList<>();
    while (times.size() < most
        && (times.isEmpty() || System.nanoTime() - begun < patience.toNanos())) {
      List<NominalTime> next = timetable.next(cursor);
      if (next.isEmpty() || next.getFirst().at().isAfter(last)) {
        return new NominalTimes(times, to, true);
      }
      times.addAll(next);
      cursor = next.getFirst().at();
    }
    return new NominalTimes(times, cursor, false);
  }
}
