package carillon.api.schedules;

import carillon.api.json.Times;
import carillon.api.tasks.TaskJson;
import carillon.model.cron.DstRule;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Recurrence;
import carillon.model.cron.Zones;
import carillon.model.schedule.Schedule;
import carillon.model.schedule.SkipReason;
import carillon.store.db.Json;
import carillon.store.schedules.RecordedFire;
import carillon.store.schedules.ScheduleView;
import carillon.store.schedules.StoredSchedule;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Renders schedules, their next runs and their fires as JSON. */
final class ScheduleJson {

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final int NEXT_RUNS = 5;

  private ScheduleJson() {}

  /** A schedule with all details. */
  static ObjectNode of(ScheduleView shown, Instant now) {
    StoredSchedule stored = shown.stored();
    Recurrence recurrence = recurrence(stored.schedule());
    List<NominalTime> next = next(stored, recurrence, now, NEXT_RUNS);
    ObjectNode node = definition(stored, recurrence, next.isEmpty());
    TaskJson.withPayload(node, stored.schedule().task().payload());
    node.set("nextRuns", times(next, stored.schedule().zone(), stored.schedule().dst()));
    RecordedFire lastRun = shown.lastRun();
    node.set("lastRun", lastRun == null ? NODES.nullNode() : fire(lastRun, stored.schedule()));
    node.put("previousOutcome", shown.previousOutcome());
    return node;
  }

  /** A schedule as an item of a list. */
  static ObjectNode item(StoredSchedule stored, Instant now, boolean withPayload) {
    Schedule schedule = stored.schedule();
    Recurrence recurrence = recurrence(schedule);
    List<NominalTime> next = next(stored, recurrence, now, 1);
    ObjectNode node = definition(stored, recurrence, next.isEmpty());
    if (withPayload) {
      TaskJson.withPayload(node, schedule.task().payload());
    }
    node.set(
        "nextRun",
        next.isEmpty() ? NODES.nullNode() : time(next.getFirst(), schedule.zone(), schedule.dst()));
    return node;
  }

  /** Null if the rule is no longer valid; the rest of the schedule is shown anyway. */
  private static @Nullable Recurrence recurrence(Schedule schedule) {
    return schedule.recurrence() instanceof Recurrence.Reading.Valid(var recurrence)
        ? recurrence
        : null;
  }

  private static List<NominalTime> next(
      StoredSchedule stored, @Nullable Recurrence recurrence, Instant now, int count) {
    return recurrence == null ? List.of() : NextRuns.of(stored, recurrence, now, count);
  }

  private static ObjectNode definition(
      StoredSchedule stored, @Nullable Recurrence recurrence, boolean isFinished) {
    Schedule schedule = stored.schedule();
    Schedule.TaskTemplate task = schedule.task();
    ObjectNode node = NODES.objectNode();
    node.put("name", schedule.name());
    node.put("type", task.type());
    node.put("cron", schedule.cron());
    node.put("every", schedule.every() == null ? null : schedule.every().toString());
    node.put("description", recurrence == null ? null : recurrence.description());
    node.put("timezone", schedule.zone().getId());
    node.put("timezoneData", Zones.dataVersion());
    node.set("dst", dst(schedule.dst()));
    node.put("overlap", schedule.overlap().label());
    node.put("catchUp", lower(schedule.catchUp().rule()));
    node.put("catchUpLimit", schedule.catchUp().limit());
    node.put("catchUpWindow", schedule.catchUp().window().toString());
    node.put("jitter", schedule.jitter().toString());
    node.put("startAt", Times.formatOrNull(schedule.startAt()));
    node.put("endAt", Times.formatOrNull(schedule.endAt()));
    node.put("maxRuns", schedule.maxRuns());
    node.put("pauseAfterFailures", schedule.pauseAfterFailures());
    pause(node, stored.pause());
    node.put("status", stored.isPaused() ? "PAUSED" : isFinished ? "FINISHED" : "ACTIVE");
    node.put("key", task.key());
    node.put("priority", task.priority());
    node.set("target", task.target() == null ? NODES.nullNode() : Json.shown(task.target()));
    node.set("retry", task.retry() == null ? NODES.nullNode() : Json.of(task.retry()));
    node.put("version", stored.version());
    node.put("createdAt", Times.format(stored.createdAt()));
    node.put("updatedAt", Times.format(stored.updatedAt()));
    node.set("counters", counters(stored.counters()));
    return node;
  }

  private static void pause(ObjectNode node, StoredSchedule.@Nullable Pause pause) {
    node.put("paused", pause != null);
    node.put("pausedReason", pause == null ? null : pause.reason());
    node.put("pausedBy", pause == null ? null : pause.by());
    node.put("pausedAt", pause == null ? null : Times.formatOrNull(pause.at()));
  }

  private static ObjectNode dst(DstRule dst) {
    return NODES.objectNode().put("gap", lower(dst.gap())).put("overlap", lower(dst.overlap()));
  }

  private static ObjectNode counters(StoredSchedule.Counters counters) {
    ObjectNode node = NODES.objectNode();
    node.put("runs", counters.runs());
    node.put("completed", counters.completed());
    node.put("failed", counters.failed());
    node.put("cancelled", counters.cancelled());
    ObjectNode skipped = node.putObject("skipped");
    for (SkipReason reason : SkipReason.values()) {
      skipped.put(reason.label(), counters.skipped().getOrDefault(reason, 0L));
    }
    return node;
  }

  static ArrayNode times(List<NominalTime> times, ZoneId zone, DstRule dst) {
    ArrayNode array = NODES.arrayNode();
    times.forEach(time -> array.add(time(time, zone, dst)));
    return array;
  }

  /** Nominal times with whether each is skipped. */
  static ArrayNode preview(List<NominalTime> times, ZoneId zone, DstRule dst) {
    ArrayNode array = NODES.arrayNode();
    times.forEach(time -> array.add(time(time, zone, dst).put("skipped", !time.fires())));
    return array;
  }

  private static ObjectNode time(NominalTime time, ZoneId zone, DstRule dst) {
    ObjectNode node = NODES.objectNode();
    node.put("at", Times.format(time.at()));
    node.put("local", local(time.at(), zone));
    node.put("note", time.note(zone, dst).orElse(null));
    return node;
  }

  /** The local time in the zone at that moment. */
  private static String local(Instant at, ZoneId zone) {
    return DateTimeFormatter.ISO_ZONED_DATE_TIME.format(
        at.truncatedTo(ChronoUnit.MILLIS).atZone(zone));
  }

  static void addFires(ObjectNode node, Schedule schedule, List<RecordedFire> fires) {
    ArrayNode array = node.putArray("fires");
    fires.forEach(fire -> array.add(fire(fire, schedule)));
  }

  static ObjectNode fire(RecordedFire fire, Schedule schedule) {
    SkipReason skipped = fire.skipped();
    ObjectNode node = time(fire.time(), schedule.zone(), schedule.dst());
    node.put("kind", lower(fire.kind()));
    node.put("outcome", skipped == null ? "task" : "skipped");
    node.put("reason", skipped == null ? null : skipped.label());
    node.put("taskId", fire.task() == null ? null : fire.task().toString());
    node.put("status", fire.status());
    node.put("recordedAt", Times.format(fire.recordedAt()));
    return node;
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
