package carillon.store.schedules;

import carillon.model.TenantId;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import carillon.model.schedule.Schedule;
import carillon.model.schedule.SkipReason;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A schedule as stored: its definition and its state.
 *
 * @param pause null while it is not paused
 * @param anchor the start of intervals
 * @param generation part of its tasks' ids; incremented when planned tasks are withdrawn
 * @param cursor every nominal time up to and including it is decided
 * @param planAt when it is due for planning; null means never
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
   * Counts of its nominal times.
   *
   * @param runs nominal times that became tasks
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

  /**
   * Up to when the current rule has decided everything. A new rule starts there, so that it is not
   * applied to times that the old rule has handled.
   */
  Instant decidedUpTo(Instant now) {
    Instant first = planAt;
    Instant late = firstLate(now).orElse(null);
    if (first != null && late != null && late.isBefore(first)) {
      first = late; // planning was postponed, or is spread over several passes
    }
    return first == null || first.isAfter(now) ? now : first.minus(1, ChronoUnit.MICROS);
  }

  /** The first undecided nominal time up to now. */
  private Optional<Instant> firstLate(Instant now) {
    Instant startAt = schedule.startAt();
    Instant endAt = schedule.endAt();
    Instant after = startAt != null && startAt.isAfter(cursor) ? startAt.minusNanos(1) : cursor;
    if (hasAllRuns() || !after.isBefore(now)) {
      return Optional.empty();
    }
    try {
      return timetable().next(after).stream()
          .map(NominalTime::at)
          .filter(at -> !at.isAfter(now) && (endAt == null || !at.isAfter(endAt)))
          .findFirst();
    } catch (IllegalStateException _) { // an expression that only another version can parse
      return Optional.empty();
    }
  }

  /** Whether the maximum of runs is reached. */
  boolean hasAllRuns() {
    return schedule.maxRuns() != null && counters.runs() >= schedule.maxRuns();
  }

  public boolean isPaused() {
    return pause != null;
  }
}
