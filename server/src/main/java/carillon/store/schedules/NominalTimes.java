package carillon.store.schedules;

import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import carillon.model.schedule.Schedule;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * A batch of the nominal times of a range, in order; it contains all times of an instant or none.
 *
 * @param upTo the batch contains all times up to and including this one
 * @param isOver whether the range has no more
 */
record NominalTimes(List<NominalTime> times, Instant upTo, boolean isOver) {

  NominalTimes {
    times = List.copyOf(times);
  }

  /**
   * The times after one instant and up to another, between the schedule's start and end.
   *
   * @param limit the batch ends with the instant that reaches it
   * @param timeout ends the batch early, so that no expression can hold a transaction open
   */
  static NominalTimes of(
      Schedule schedule,
      Timetable timetable,
      Instant after,
      Instant to,
      int limit,
      Duration timeout) {
    Instant start = schedule.startAt();
    Instant end = schedule.endAt();
    Instant last = end == null || end.isAfter(to) ? to : end;
    Instant cursor = start == null || start.isBefore(after) ? after : start.minusNanos(1);
    long begun = System.nanoTime();
    List<NominalTime> times = new ArrayList<>();
    while (times.size() < limit
        && (times.isEmpty() || System.nanoTime() - begun < timeout.toNanos())) {
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
