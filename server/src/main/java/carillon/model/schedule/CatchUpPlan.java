package carillon.model.schedule;

import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The missed nominal times of a schedule that become tasks. */
final class CatchUpPlan {

  private static final Duration FIRST_RANGE = Duration.ofMinutes(1);
  private static final int RANGE_GROWTH = 4;

  private final Map<Instant, Integer> indexes;

  private CatchUpPlan(List<Instant> times) {
    this.indexes = HashMap.newHashMap(times.size());
    times.forEach(at -> indexes.put(at, indexes.size()));
  }

  /**
   * The newest missed times inside the rule's window, as many as the rule allows.
   *
   * @param after times up to and including this one are decided already
   * @param upTo the last missed time
   */
  static CatchUpPlan of(
      CatchUp rule, Timetable timetable, Instant after, Instant upTo, Instant now) {
    int limit =
        switch (rule.rule()) {
          case NONE -> 0;
          case LAST -> 1;
          case ALL -> rule.limit();
        };
    Instant windowStart = now.minus(rule.window()).minusNanos(1);
    Instant from = after.isAfter(windowStart) ? after : windowStart;
    return new CatchUpPlan(limit == 0 ? List.of() : newest(timetable, from, upTo, limit));
  }

  /**
   * A timetable can only be read forwards, and the range may contain millions of times: reads the
   * end of the range first, and a longer part while that is not enough.
   */
  private static List<Instant> newest(Timetable timetable, Instant from, Instant upTo, int limit) {
    Duration range = FIRST_RANGE;
    while (true) {
      Instant start = upTo.minus(range);
      boolean isAll = !start.isAfter(from);
      Deque<Instant> found = last(timetable, isAll ? from : start, upTo, limit);
      if (isAll || found.size() == limit) {
        return List.copyOf(found);
      }
      range = range.multipliedBy(RANGE_GROWTH);
    }
  }

  private static Deque<Instant> last(Timetable timetable, Instant from, Instant upTo, int limit) {
    Deque<Instant> found = new ArrayDeque<>();
    Instant after = from;
    while (true) {
      List<NominalTime> next = timetable.next(after);
      if (next.isEmpty() || next.getFirst().at().isAfter(upTo)) {
        return found;
      }
      after = next.getFirst().at();
      if (next.stream().anyMatch(NominalTime::fires)) {
        found.addLast(after);
        if (found.size() > limit) {
          found.removeFirst();
        }
      }
    }
  }

  boolean has(Instant at) {
    return indexes.containsKey(at);
  }

  int index(Instant at) {
    return indexes.getOrDefault(at, 0);
  }
}
