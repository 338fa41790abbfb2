package carillon.model.schedule;

import carillon.model.cron.DstRule;
import carillon.model.cron.Every;
import carillon.model.cron.Recurrence;
import carillon.model.cron.Timetable;
import carillon.model.target.HiddenValues;
import carillon.model.target.Target;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The rule that creates tasks, as it was asked for.
 *
 * @param cron either this
 * @param every or this
 * @param startAt nothing fires before; null means from now on
 * @param endAt nothing fires after
 * @param maxRuns so many nominal times become tasks
 * @param pauseAfterFailures it is paused when so many of its tasks in a row have failed
 * @param jitter each fire is late by up to this, always the same for the same nominal time
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
   * What its tasks are; what is null follows the type.
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
   * All its nominal times, whether it has begun or ended.
   *
   * @param anchor what intervals count from
   */
  public Timetable timetable(Instant anchor) {
    return switch (recurrence()) {
      case Recurrence.Reading.Valid(var recurrence) -> recurrence.timetable(zone, dst, anchor);
      case Recurrence.Reading.Invalid(_, var message) ->
          throw new IllegalStateException("schedule " + name + ": " + message);
    };
  }

  /** Refused only if another version of Carillon accepted what this one does not. */
  public Recurrence.Reading recurrence() {
    return every == null
        ? Recurrence.read(Objects.requireNonNull(cron), name)
        : new Recurrence.Reading.Valid(new Every(every));
  }

  /**
   * With the secrets of the target that it had before, where this one has hidden ones.
   *
   * @throws HiddenValues.Unknown if it has none
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

  /** A task of this schedule. */
  public NewTask taskDue(Instant dueAt) {
    return taskDue(dueAt, overlap, task.payload());
  }

  /** The same, but not by the schedule's own rule, or with something else to do. */
  public NewTask taskDue(Instant dueAt, OverlapRule overlap, @Nullable String payload) {
    return new NewTask(
        task.type(),
        task.key(),
        dueAt,
        null,
        task.priority(),
        payload,
        task.target(),
        task.retry(),
        null,
        null,
        overlap == OverlapRule.ALLOW ? null : "carillon.schedule." + name,
        null,
        Map.of());
  }
}
