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

/** Which of the nominal times that a schedule missed become tasks after all. */
final class CatchUpPlan {

  private static final Duration FIRST_LOOK = Duration.ofMinutes(1);
  private static final int FARTHER = 4;

  private final Map<Instant, Integer> places;

  private CatchUpPlan(List<Instant> times) {
    this.places = HashMap.newHashMap(times.size());
    times.forEach(at -> places.put(at, places.size()));
  }

  /**
   * The newest ones, as many as the rule says, inside its window.
   *
   * @param after those up to and including this one are decided already
   * @param upTo the newest that can be among them
   */
  static CatchUpPlan of(
      CatchUp rule, Timetable timetable, Instant after, Instant upTo, Instant now) {
    int wanted =
        switch (rule.rule()) {
          case NONE -> 0;
          case LAST -> 1;
          case ALL -> rule.limit();
        };
    Instant windowStart = now.minus(rule.window()).minusNanos(1);
    Instant from = after.isAfter(windowStart) ? after : windowStart;
    return new CatchUpPlan(wanted == 0 ? List.of() : newest(timetable, from, upTo, wanted));
  }

  /**
   * A timetable only goes forward, and a range may hold millions: looks at its end first, and
   * farther back while that is not enough.
   */
  private static List<Instant> newest(Timetable timetable, Instant from, Instant upTo, int wanted) {
    Duration look = FIRST_LOOK;
    while (true) {
      Instant start = upTo.minus(look);
      boolean isAll = !start.isAfter(from);
      Deque<Instant> found = last(timetable, isAll ? from : start, upTo, wanted);
      if (isAll || found.size() == wanted) {
        return List.copyOf(found);
      }
      look = look.multipliedBy(FARTHER);
    }
  }

  private static Deque<Instant> last(Timetable timetable, Instant from, Instant upTo, int wanted) {
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
        if (found.size() > wanted) {
          found.removeFirst();
        }
      }
    }
  }

  boolean has(Instant at) {
    return places.containsKey(at);
  }

  /** The how manieth of them it is, from 0 on. */
  int place(Instant at) {
    return places.getOrDefault(at, 0);
  }
}
