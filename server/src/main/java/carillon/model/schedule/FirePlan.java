package carillon.model.schedule;

import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the planner decides about one schedule in one pass.
 *
 * @param decisions one for each nominal time from the old cursor to the new one, in order
 * @param cancels tasks of earlier fires to cancel; this plan may have created some of them
 * @param cursor every nominal time up to and including it is decided
 * @param planAt when there is more to decide or to settle; null means never
 * @param missed the number of nominal times that were not planned in time
 */
public record FirePlan(
    List<Decision> decisions,
    List<Cancel> cancels,
    Instant cursor,
    @Nullable Instant planAt,
    int missed) {

  /** A nominal time becomes a task this long before it is due. */
  public static final Duration HORIZON = Duration.ofSeconds(30);

  /** A nominal time that is later than this was missed. */
  public static final Duration GRACE = Duration.ofSeconds(60);

  public FirePlan {
    decisions = List.copyOf(decisions);
    cancels = List.copyOf(cancels);
  }

  /** What to do about one nominal time. */
  public sealed interface Decision {
    NominalTime time();

    record Create(NominalTime time, TaskId task, Instant dueAt) implements Decision {}

    record Skip(NominalTime time, SkipReason reason) implements Decision {}
  }

  /**
   * Cancels the task of an earlier fire.
   *
   * @param by the task that replaces it; if that is not created, nothing is cancelled
   */
  public record Cancel(TaskId task, TaskId by) {}

  /**
   * A schedule as the planner reads it.
   *
   * @param runs the number of nominal times that became tasks so far
   * @param live its fires whose tasks have not ended, oldest first; backfilled ones do not count as
   *     overlapping, they only have to be settled
   */
  public record State(
      long id,
      int generation,
      Schedule schedule,
      Timetable timetable,
      Instant cursor,
      long runs,
      boolean paused,
      List<UnsettledFire> live) {

    public State {
      live = List.copyOf(live);
    }
  }

  /** Decides nothing; the schedule is planned again then. */
  public static FirePlan nothing(Instant cursor, Instant until) {
    return new FirePlan(List.of(), List.of(), cursor, until, 0);
  }

  /** This plan, but the schedule is planned again at this time at the latest. */
  public FirePlan againBy(Instant time) {
    return planAt != null && planAt.isBefore(time)
        ? this
        : new FirePlan(decisions, cancels, cursor, time, missed);
  }

  /**
   * Decides the nominal times that are due.
   *
   * @param limit approximate; further nominal times wait for the next pass
   */
  public static FirePlan of(State state, Instant now, int limit) {
    return new FirePlanner(state, now, limit).plan();
  }
}
