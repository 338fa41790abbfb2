package carillon.engine.upkeep;

import carillon.model.cron.Timetable;
import carillon.store.schedules.StoredSchedule;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/** Caches the timetables of the schedules planned last. Not thread-safe. */
final class Timetables {

  private final Function<StoredSchedule, Timetable> read;
  private final Map<Long, Cached> cache;

  /** Valid while the schedule has this version. */
  private record Cached(int version, Timetable timetable) {}

  Timetables(int maxSize, Function<StoredSchedule, Timetable> read) {
    this.read = read;
    this.cache =
        new LinkedHashMap<>(16, 0.75f, true) {
          private static final long serialVersionUID = 1L;

          @Override
          protected boolean removeEldestEntry(Map.Entry<Long, Cached> eldest) {
            return size() > maxSize;
          }
        };
  }

  Timetable of(StoredSchedule schedule) {
    Cached known = cache.get(schedule.id());
    if (known == null || known.version() != schedule.version()) {
      known = new Cached(schedule.version(), read.apply(schedule));
      cache.put(schedule.id(), known);
    }
    return known.timetable();
  }
}
