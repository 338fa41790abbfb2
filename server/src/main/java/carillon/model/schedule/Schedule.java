package carillon.model.schedule;

import carillon.model.cron.DstRule;
import carillon.model.cron.Every;
import carillon.model.cron.Recurrence;
import carillon.model.cron.Timetable;
import carillon.model.target.HiddenValues;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The definition of a schedule: when it fires and which tasks it creates.
 *
 * @param cron null if there is {@code every}
 * @param every null if there is {@code cron}
 * @param startAt nothing fires before it; null means from now on
 * @param endAt nothing fires after it
 * @param maxRuns the maximum number of nominal times that become tasks
 * @param pauseAfterFailures the number of consecutive failures that pauses it
 * @param jitter the maximum delay of a fire; the delay of a nominal time never changes
 */
public record Schedule(
    String name,
    @Nullable String cron,
    @Nullable Duration every,
    ZoneId zone,
    DstRule dst,
    OverlapRule overlap,
    CatchUp catchUp,
    Duration jitter,
    @Nullable Instant startAt,
    @Nullable Instant endAt,
    @Nullable Integer maxRuns,
    @Nullable Integer pauseAfterFailures,
    TaskTemplate task) {

  /**
   * The tasks that it creates; null fields come from the type.
   *
   * @param payload JSON text, byte for byte
   */
  public record TaskTemplate(
      String type,
      @Nullable String key,
      @Nullable Integer priority,
      @Nullable String payload,
      @Nullable Target target,
      @Nullable RetryPolicy retry) {}

  /**
   * All nominal times of its rule, also before its start and after its end.
   *
   * @param anchor the start of intervals
   */
  public Timetable timetable(Instant anchor) {
    return switch (recurrence()) {
      case Recurrence.Reading.Valid(var recurrence) -> recurrence.timetable(zone, dst, anchor);
      case Recurrence.Reading.Invalid(_, var message) ->
          throw new IllegalStateException("schedule " + name + ": " + message);
    };
  }

  /** Invalid only if another version of Carillon accepted a rule that this one does not. */
  public Recurrence.Reading recurrence() {
    return every == null
        ? Recurrence.read(Objects.requireNonNull(cron), name)
        : new Recurrence.Reading.Valid(new Every(every));
  }

  /**
   * Replaces hidden secrets of the target by those of the target before.
   *
   * @throws HiddenValues.Unknown if the target before has no such secret
   */
  public Schedule keeping(@Nullable Target before) {
    Target target = HiddenValues.keep("target", task.target(), before);
    if (Objects.equals(target, task.target())) {
      return this;
    }
    return new Schedule(
        name,
        cron,
        every,
        zone,
        dst,
        overlap,
        catchUp,
        jitter,
        startAt,
        endAt,
        maxRuns,
        pauseAfterFailures,
        new TaskTemplate(
            task.type(), task.key(), task.priority(), task.payload(), target, task.retry()));
  }

  /** A task created by the schedule's own rule. */
  public NewTask taskDue(Instant dueAt) {
    return taskDue(dueAt, overlap, task.payload());
  }

  /** A task with another overlap rule or payload. */
  public NewTask taskDue(Instant dueAt, OverlapRule overlap, @Nullable String payload) {
    TaskSpec spec =
        new TaskSpec(
            task.type(),
            task.key(),
            overlap == OverlapRule.ALLOW ? null : "carillon.schedule." + name,
            payload,
            task.target(),
            task.retry(),
            Map.of(),
            Callbacks.NONE);
    return new NewTask(spec, task.priority(), dueAt);
  }
}
