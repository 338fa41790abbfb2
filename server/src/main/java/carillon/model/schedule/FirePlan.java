package carillon.model.schedule;

import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the planner decides about one schedule when it looks at it.
 *
 * @param decisions one for each nominal time from the old cursor to the new one, in order
 * @param cancels of tasks of earlier fires that make room; some may be made by this plan
 * @param cursor every nominal time up to and including it is decided
 * @param lookAt when there is more to decide or to settle; null means never
 * @param missed how many of the nominal times nobody had planned in time
 */
public record FirePlan(
    List<Decision> decisions,
    List<Cancel> cancels,
    Instant cursor,
    @Nullable Instant lookAt,
    int missed) {

  /** A fire becomes a task that long before it is due. */
  public static final Duration HORIZON = Duration.ofSeconds(30);

  /** What is later than this was missed. */
  public static final Duration GRACE = Duration.ofSeconds(60);

  public FirePlan {
    decisions = List.copyOf(decisions);
    cancels = List.copyOf(cancels);
  }

  /** What becomes of one nominal time. */
  public sealed interface Decision {
    NominalTime time();

    /** A task. */
    record Create(NominalTime time, TaskId task, Instant dueAt) implements Decision {}

    record Skip(NominalTime time, SkipReason reason) implements Decision {}
  }

  /**
   * Makes room.
   *
   * @param by the task that comes instead; if that is not made after all, nothing is cancelled
   */
  public record Cancel(TaskId task, TaskId by) {}

  /**
   * A schedule as the planner finds it.
   *
   * @param runs nominal times that became tasks so far
   * @param live its fires whose tasks have not ended, oldest first; backfilled ones count for
   *     nothing but that they are to be settled
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

  /** Nothing is decided before then. */
  public static FirePlan nothing(Instant cursor, Instant until) {
    return new FirePlan(List.of(), List.of(), cursor, until, 0);
  }

  /** The same, but there is more to settle by then. */
  public FirePlan lookingBy(Instant time) {
    return lookAt != null && lookAt.isBefore(time)
        ? this
        : new FirePlan(decisions, cancels, cursor, time, missed);
  }

  /**
   * Decides.
   *
   * @param most about so many nominal times at once; more wait for the next look
   */
  public static FirePlan of(State state, Instant now, int most) {
    return new FirePlanner(state, now, most).plan();
  }
}
