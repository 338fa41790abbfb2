package carillon.api.live;

import carillon.api.json.Times;
import carillon.model.TenantLimit;
import carillon.model.task.Counts;
import carillon.store.catalog.TenantLimits.Used;
import carillon.store.db.Json;
import carillon.store.stats.ActivityReader.Lately;
import carillon.store.stats.ActivityReader.Since;
import carillon.store.stats.StatsReader.Due;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Statistics as JSON. */
final class StatsJson {

  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final int MAX_TYPES = 200;

  private StatsJson() {}

  /** The response of {@code GET /v1/stats}. */
  static String of(Stats.Overview all) {
    Stats.SeenAt seen = all.seenAt();
    ObjectNode json = JSON.objectNode().put("at", Times.format(seen.first()));
    json.putObject("seenAt")
        .put("due", Times.format(seen.due()))
        .put("running", Times.format(seen.running()))
        .put("dead", Times.format(seen.dead()))
        .put("last", Times.format(seen.last()))
        .put("hours", Times.format(seen.hours()));
    json.putObject("status")
        .put("PENDING", Stats.sum(all.waiting().tasks()))
        .put("RUNNING", Stats.sum(all.running()))
        .put("DEAD", Stats.sum(all.dead()));
    json.put("pendingCountedAt", Times.formatOrNull(all.waiting().countedAt()))
        .put("runningIsAtLeast", all.running().atLeast())
        .put("deadIsAtLeast", all.dead().atLeast());
    Due due = Stats.all(all.due());
    json.putObject("due")
        .put("tasks", due.tasks())
        .put("atLeast", due.atLeast())
        .put("oldest", Times.formatOrNull(due.oldest()));
    ObjectNode last = json.putObject("last");
    last.set("minute", activity(all.lately().minute()));
    last.set("hour", activity(all.lately().hour()));
    last.set("day", activity(all.lately().day()));
    json.set("now", point(all.lately().now()));
    if (!all.usage().isEmpty()) {
      json.set("limits", limits(all.usage()));
    }
    List<String> types = byBusyness(all);
    ArrayNode shown = json.putArray("types");
    types.stream().limit(MAX_TYPES).forEach(type -> shown.add(type(all, type)));
    return Json.MAPPER.writeValueAsString(
        json.put("moreTypes", Math.max(0, types.size() - MAX_TYPES)));
  }

  static ObjectNode limits(Map<TenantLimit, Used> usage) {
    ObjectNode json = JSON.objectNode();
    for (TenantLimit limit : TenantLimit.values()) {
      Used used = usage.get(limit);
      if (used != null) {
        json.putObject(limit.label()).put("used", used.used()).put("max", used.max());
      }
    }
    return json;
  }

  /** Types with any tasks or activity, the busiest first. */
  private static List<String> byBusyness(Stats.Overview all) {
    Set<String> types = new HashSet<>(all.paused());
    types.addAll(all.due().types().keySet());
    types.addAll(all.running().types().keySet());
    types.addAll(all.dead().types().keySet());
    types.addAll(all.waiting().tasks().types().keySet());
    types.addAll(all.hours().keySet());
    Comparator<String> mostFirst =
        Comparator.comparingLong((String type) -> busyness(all, type))
            .thenComparingLong(type -> of(all.waiting().tasks().types().get(type)))
            .thenComparingLong(type -> of(all.dead().types().get(type)))
            .reversed();
    return types.stream().sorted(mostFirst.thenComparing(Comparator.naturalOrder())).toList();
  }

  private static long busyness(Stats.Overview all, String type) {
    Since hour = all.hours().get(type);
    long ended = hour == null ? 0 : hour.counts().ended();
    return of(all.running().types().get(type))
        + all.due().types().getOrDefault(type, Due.NONE).tasks()
        + ended;
  }

  /** One type in the list of all types. */
  static ObjectNode type(Stats.Overview all, String type) {
    Due due = all.due().types().getOrDefault(type, Due.NONE);
    Since hour = all.hours().get(type);
    ObjectNode json =
        JSON.objectNode()
            .put("type", type)
            .put("paused", all.paused().contains(type))
            .put("pending", of(all.waiting().tasks().types().get(type)))
            .put("running", of(all.running().types().get(type)))
            .put("dead", of(all.dead().types().get(type)))
            .put("due", due.tasks())
            .put("dueAtLeast", due.atLeast() || all.due().atLeast())
            .put("oldestDue", Times.formatOrNull(due.oldest()));
    json.set("hour", activity(hour == null ? Lately.none(all.seenAt().hours()).hour() : hour));
    return json;
  }

  private static long of(@Nullable Long number) {
    return number == null ? 0 : number;
  }

  /** The activity in a period. */
  static ObjectNode activity(Since since) {
    ObjectNode json = counts(JSON.objectNode(), since.counts());
    json.put("perSecond", perSecond(since));
    return lateness(json, since.counts());
  }

  /** The rate in the period itself, which may have ended a while ago. */
  private static double perSecond(Since since) {
    long millis = Math.max(1, Duration.between(since.from(), since.until()).toMillis());
    return Math.round(since.counts().ended() * 1_000_000.0 / millis) / 1_000.0;
  }

  /** One point of a chart. */
  static ObjectNode point(Since since) {
    ObjectNode json = JSON.objectNode().put("at", Times.format(since.from()));
    return lateness(counts(json, since.counts()), since.counts());
  }

  private static ObjectNode counts(ObjectNode json, Counts counts) {
    for (Counts.Kind kind : Counts.Kind.values()) {
      json.put(kind.name().toLowerCase(Locale.ROOT), counts.of(kind));
    }
    return json;
  }

  private static ObjectNode lateness(ObjectNode json, Counts counts) {
    json.putObject("lateness")
        .put("p50", text(counts.late(0.50)))
        .put("p95", text(counts.late(0.95)))
        .put("p99", text(counts.late(0.99)));
    return json;
  }

  private static @Nullable String text(@Nullable Duration duration) {
    return duration == null ? null : duration.toString();
  }
}
