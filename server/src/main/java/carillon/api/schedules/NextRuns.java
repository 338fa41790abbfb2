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

/** Finds the next nominal times, in bounded time. */
final class NextRuns {

  /** A list may be shorter if a clock change skips more times than this. */
  private static final int MAX_SKIPPED = 20;

  /** A clock change can skip thousands of times. */
  private static final int MAX_SKIPPED_LISTED = 100;

  private NextRuns() {}

  /**
   * A time range.
   *
   * @param after exclusive
   * @param endAt inclusive; null means never
   */
  record Span(Instant after, @Nullable Instant endAt) {

    /** From now, or from the start if that is later; the start is included. */
    static Span of(Instant now, @Nullable Instant startAt, @Nullable Instant endAt) {
      return new Span(startAt != null && startAt.isAfter(now) ? startAt.minusNanos(1) : now, endAt);
    }

    private boolean isOver(List<NominalTime> times) {
      return times.isEmpty() || (endAt != null && times.getFirst().at().isAfter(endAt));
    }
  }

  /** The next times that fire, and between them the times that a clock change skips. */
  static List<NominalTime> all(Timetable timetable, Span span, int count) {
    List<NominalTime> all = new ArrayList<>();
    int firing = 0;
    int skipped = 0;
    List<NominalTime> next = timetable.next(span.after());
    for (int steps = 0; firing < count && steps < count + MAX_SKIPPED_LISTED; steps++) {
      if (span.isOver(next)) {
        break;
      }
      for (NominalTime time : next) {
        if (time.fires() || skipped < MAX_SKIPPED_LISTED) {
          all.add(time);
          firing += time.fires() ? 1 : 0;
          skipped += time.fires() ? 0 : 1;
        }
      }
      next = timetable.next(next.getFirst().at());
    }
    return all;
  }

  /** The next runs of a schedule, as if it were not paused. */
  static List<NominalTime> of(
      StoredSchedule stored, Recurrence recurrence, Instant now, int count) {
    Schedule schedule = stored.schedule();
    Timetable timetable = recurrence.timetable(schedule.zone(), schedule.dst(), stored.anchor());
    Span span = Span.of(now, schedule.startAt(), schedule.endAt());
    // Planned times already count as runs.
    long left =
        schedule.maxRuns() == null ? Long.MAX_VALUE : schedule.maxRuns() - stored.counters().runs();
    List<NominalTime> runs = new ArrayList<>();
    Instant after = span.after();
    for (int steps = 0; runs.size() < count && steps < count + MAX_SKIPPED; steps++) {
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
