package carillon.store;

import carillon.model.Schedule;
import carillon.model.SkipReason;
import carillon.model.TenantId;
import carillon.model.Timetable;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A schedule with what has become of it so far.
 *
 * @param pause null while it is not paused
 * @param anchor what intervals count from
 * @param generation part of its fires' ids: rises when what was planned is withdrawn
 * @param cursor every nominal time up to and including it has its fire
 * @param planAt when the planner has to look at it again; null means never
 */
public record StoredSchedule(
    long id,
    TenantId tenant,
    Schedule schedule,
    int version,
    Instant createdAt,
    Instant updatedAt,
    @Nullable Pause pause,
    Instant anchor,
    int generation,
    Instant cursor,
    @Nullable Instant planAt,
    Counters counters) {

  /** Who paused it, when and why. */
  public record Pause(@Nullable String reason, @Nullable String by, @Nullable Instant at) {}

  /**
   * What became of its nominal times.
   *
   * @param runs those that became tasks
   */
  public record Counters(
      long runs,
      long completed,
      long failed,
      long cancelled,
      int failuresInARow,
      Map<SkipReason, Long> skipped) {

    public Counters {
      skipped = Map.copyOf(skipped);
    }
  }

  /** All its nominal times. */
  public Timetable timetable() {
    return schedule.timetable(anchor);
  }

  public boolean isPaused() {
    return pause != null;
  }
}
