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

  /**
   * Up to when nothing is left to decide by the rule that it has. Whoever changes the rule goes on
   * from there, so that the new one is not applied to a past that the old one has dealt with.
   */
  Instant decidedUpTo(Instant now) {
    Instant first = planAt;
    Instant late = firstLate(now).orElse(null);
    if (first != null && late != null && late.isBefore(first)) {
      first = late; // somebody has put off the look, or it is worked off in several
    }
    return first == null || first.isAfter(now) ? now : first.minus(1, ChronoUnit.MICROS);
  }

  /** The first nominal time up to now that nobody has decided. */
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
    } catch (IllegalStateException _) { // an expression that only another version could read
      return Optional.empty();
    }
  }

  /** Whether as many nominal times have become tasks as may. */
  boolean hasAllRuns() {
    return schedule.maxRuns() != null && counters.runs() >= schedule.maxRuns();
  }

  public boolean isPaused() {
    return pause != null;
  }
}
