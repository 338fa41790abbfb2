package carillon.api.schedules;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.json.Fields;
import carillon.api.targets.RetryFields;
import carillon.api.targets.TargetFields;
import carillon.api.tasks.TaskFields;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Recurrence;
import carillon.model.cron.Timetable;
import carillon.model.schedule.CatchUp;
import carillon.model.schedule.OverlapRule;
import carillon.model.schedule.Schedule;
import carillon.model.target.Grants;
import carillon.model.target.Target;
import carillon.model.task.RetryPolicy;
import carillon.store.schedules.Schedules;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads the definition of a schedule from a request. */
public final class ScheduleFields {

  private static final Set<String> READ_ONLY =
      Set.of(
          "name",
          "tenant",
          "description",
          "pausedReason",
          "pausedBy",
          "pausedAt",
          "version",
          "createdAt",
          "updatedAt");

  /**
   * Changes without a change of the schedule, so that a value that is sent back may be outdated.
   */
  private static final Set<String> OBSERVED =
      Set.of(
          "timezoneData",
          "status",
          "nextRun",
          "nextRuns",
          "lastRun",
          "previousOutcome",
          "counters",
          "fires");

  private static final Set<String> SHOWN_ONLY = union(READ_ONLY, OBSERVED);

  private final TargetFields targets;

  public ScheduleFields(TargetFields targets) {
    this.targets = targets;
  }

  private static Set<String> union(Set<String> some, Set<String> others) {
    Set<String> all = new HashSet<>(some);
    all.addAll(others);
    return Set.copyOf(all);
  }

  /** The result is valid only if no errors were recorded. */
  Schedules.Wanted read(Fields fields, String name, Grants grants) {
    RuleFields.Rule rule = RuleFields.read(fields, name);
    mustFire(fields, rule);
    OverlapRule overlap = fields.choice("overlap", OverlapRule.class, OverlapRule::label);
    CatchUp catchUp = catchUp(fields);
    Duration jitter = fields.duration("jitter", Duration.ZERO, Limits.FIRE_JITTER_MAX);
    Schedule schedule =
        new Schedule(
            name,
            rule.cron(),
            rule.every(),
            rule.zone(),
            rule.dst(),
            overlap == null ? OverlapRule.SKIP : overlap,
            catchUp,
            jitter == null ? Duration.ZERO : RuleFields.toMillis(jitter),
            rule.startAt(),
            rule.endAt(),
            fields.integer("maxRuns", 1, Integer.MAX_VALUE),
            fields.integer("pauseAfterFailures", 1, Limits.PAUSE_AFTER_FAILURES),
            taskTemplate(fields, grants));
    Boolean paused = fields.bool("paused");
    fields.doneExcept(SHOWN_ONLY);
    return new Schedules.Wanted(schedule, paused);
  }

  /**
   * Records an error for each read-only field that differs from its current value.
   *
   * @param now the schedule to be replaced, as the API shows it; null if there is none
   */
  static void requireUnchanged(Fields fields, Supplier<@Nullable JsonNode> now) {
    if (fields.hasAny(SHOWN_ONLY)) {
      JsonNode shown = now.get();
      fields.requireUnchanged(READ_ONLY, shown);
      if (shown == null) {
        fields.requireUnchanged(OBSERVED, null);
      }
    }
  }

  /** Cannot be checked without a start: the result would depend on the time of the request. */
  private static void mustFire(Fields fields, RuleFields.Rule rule) {
    Recurrence recurrence = rule.recurrence();
    Instant startAt = rule.startAt();
    Instant endAt = rule.endAt();
    if (!fields.errors().isEmpty() || recurrence == null || startAt == null || endAt == null) {
      return;
    }
    Timetable timetable = recurrence.timetable(rule.zone(), rule.dst(), startAt);
    NextRuns.Span span = new NextRuns.Span(startAt.minusNanos(1), endAt);
    if (NextRuns.all(timetable, span, 1).stream().noneMatch(NominalTime::fires)) {
      fields.wrong(
          "endAt", ErrorCode.NEVER_FIRES, "the schedule never fires from startAt to endAt");
    }
  }

  private static CatchUp catchUp(Fields fields) {
    CatchUp defaults = CatchUp.DEFAULT;
    CatchUp.Rule rule = fields.choice("catchUp", CatchUp.Rule.class);
    Integer limit = fields.integer("catchUpLimit", 1, Limits.CATCH_UP);
    Duration window =
        fields.duration("catchUpWindow", Limits.CATCH_UP_WINDOW_MIN, Limits.CATCH_UP_WINDOW_MAX);
    return new CatchUp(
        rule == null ? defaults.rule() : rule,
        limit == null ? defaults.limit() : limit,
        window == null ? defaults.window() : RuleFields.toMillis(window));
  }

  private Schedule.TaskTemplate taskTemplate(Fields fields, Grants grants) {
    String type = TaskFields.type(fields);
    String key = fields.text("key", Limits.KEY_CHARS);
    Integer priority = fields.integer("priority", 0, 9);
    String payload = TaskFields.payload(fields);
    Target target = targets.change(fields, grants);
    RetryPolicy retry = RetryFields.read(fields);
    return new Schedule.TaskTemplate(
        type == null ? "" : type, key, priority, payload, target, retry);
  }
}
