package carillon.api.schedules;

import carillon.model.cron.NominalTime;
import carillon.model.cron.Recurrence;
import carillon.model.cron.Timetable;
import carillon.model.schedule.Schedule;
import carillon.store.schedules.StoredSchedule;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Which nominal times come next. Each is found in bounded time, and so are a bounded number. */
final class NextRuns {

  /** A list may be shorter rather than look past more times that a change of the clocks skips. */
  private static final int MOST_SKIPPED = 20;

  /** One change of the clocks skips up to thousands. */
  private static final int MOST_LISTED = 100;

  private NextRuns() {}

  /**
   * What follows a moment.
   *
   * @param after exclusive
   * @param endAt inclusive; null means never
   */
  record Span(Instant after, @Nullable Instant endAt) {

    /** From now on, but not before its start, which is part of it. */
    static Span of(Instant now, @Nullable Instant startAt, @Nullable Instant endAt) {
      return new Span(startAt != null && startAt.isAfter(now) ? startAt.minusNanos(1) : now, endAt);
    }

    private boolean isOver(List<NominalTime> times) {
      return times.isEmpty() || (endAt != null && times.getFirst().at().isAfter(endAt));
    }
  }

  /** So many that fire, and beside them what a change of the clocks skips on the way. */
  static List<NominalTime> all(Timetable timetable, Span span, int count) {
    List<NominalTime> all = new ArrayList<>();
    int firing = 0;
    int skipped = 0;
    List<NominalTime> next = timetable.next(span.after());
    for (int steps = 0; firing < count && steps < count + MOST_LISTED; steps++) {
      if (span.isOver(next)) {
        break;
      }
      for (NominalTime time : next) {
        if (time.fires() || skipped < MOST_LISTED) {
          all.add(time);
          firing += time.fires() ? 1 : 0;
          skipped += time.fires() ? 0 : 1;
        }
      }
      next = timetable.next(next.getFirst().at());
    }
    return all;
  }

  /** When the schedule will fire, if it is not paused then. */
  static List<NominalTime> of(
      StoredSchedule stored, Recurrence recurrence, Instant now, int count) {
    Schedule schedule = stored.schedule();
    Timetable timetable = recurrence.timetable(schedule.zone(), schedule.dst(), stored.anchor());
    Span span = Span.of(now, schedule.startAt(), schedule.endAt());
    // What is planned already is among its runs.
    long left =
        schedule.maxRuns() == null ? Long.MAX_VALUE : schedule.maxRuns() - stored.counters().runs();
    List<NominalTime> runs = new ArrayList<>();
    Instant after = span.after();
    for (int steps = 0; runs.size() < count && steps < count + MOST_SKIPPED; steps++) {
      List<NominalTime> next = timetable.next(after);
      if (span.isOver(next)) {
        break;
      }
      after = next.getFirst().at();
      boolean isPlanned = !after.isAfter(stored.cursor());
      for (NominalTime time : next) {
        if (time.fires()) {
          left -= isPlanned ? 0 : 1;
          if (left < 0) {
            return runs;
          }
          runs.add(time);
        }
      }
    }
    return runs;
  }
}
