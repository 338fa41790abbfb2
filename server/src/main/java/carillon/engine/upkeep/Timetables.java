package carillon.engine.upkeep;

import carillon.model.cron.Timetable;
import carillon.store.schedules.StoredSchedule;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** The timetables of the schedules that were planned last; for one thread. */
final class Timetables {

  private final Function<StoredSchedule, Timetable> read;
  private final Map<Long, Kept> kept;

  /** What a schedule's rule says, as long as it is of this version. */
  private record Kept(int version, Timetable timetable) {}

  Timetables(int most, Function<StoredSchedule, Timetable> read) {
    this.read = read;
    this.kept =
        new LinkedHashMap<>(16, 0.75f, true) {
          private static final long serialVersionUID = 1L;

          @Override
          protected boolean removeEldestEntry(Map.Entry<Long, Kept> eldest) {
            return size() > most;
          }
        };
  }

  Timetable of(StoredSchedule schedule) {
    Kept known = kept.get(schedule.id());
    if (known == null || known.version() != schedule.version()) {
      known = new Kept(schedule.version(), read.apply(schedule));
      kept.put(schedule.id(), known);
    }
    return known.timetable();
  }
}
