package carillon.api.live;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import carillon.api.http.Query;
import carillon.api.json.Fields;
import carillon.api.json.Times;
import carillon.model.Echo;
import carillon.model.TenantId;
import carillon.store.catalog.Tenant;
import carillon.store.catalog.Tenants;
import carillon.store.stats.Activity;
import carillon.store.stats.ActivityReader;
import carillon.store.stats.ActivityReader.Lately;
import carillon.store.stats.ActivityReader.Of;
import carillon.store.stats.StatsReader;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Shows the number of tasks and their recent activity. */
public final class StatsRoutes {

  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final int MAX_TENANTS = 1_000;

  private final Stats stats;
  private final StatsReader reader;
  private final ActivityReader activity;
  private final Tenants tenants;
  private final DatabaseGate database;

  public StatsRoutes(
      Stats stats,
      StatsReader reader,
      ActivityReader activity,
      Tenants tenants,
      DatabaseGate database) {
    this.stats = stats;
    this.reader = reader;
    this.activity = activity;
    this.tenants = tenants;
    this.database = database;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get("/v1/stats", Permission.TASKS_READ, this::show),
        Endpoint.get(
            "/v1/stats/series", Permission.TASKS_READ, Set.of("window", "type"), this::series),
        Endpoint.get("/v1/stats/tenants", Permission.CLUSTER, _ -> perTenant()),
        Endpoint.get("/v1/types/{name}/stats", Permission.TYPES_READ, this::type));
  }

  private Answer show(Call call) {
    return Answer.json(200, stats.json(new Viewer(call.tenant(), call.caller().types())));
  }

  /** The length of a chart and the width of its steps. */
  private enum Window {
    HOUR(Duration.ofHours(1), Duration.ofMinutes(1)),
    DAY(Duration.ofDays(1), Duration.ofMinutes(5));

    private final Duration length;
    private final Duration step;

    Window(Duration length, Duration step) {
      this.length = length;
      this.step = step;
    }

    static Window of(Call call) {
      String name = call.query().someText("window", 20);
      return switch (name == null ? "hour" : name) {
        case "hour" -> HOUR;
        case "day" -> DAY;
        default -> throw Query.wrong("window", ErrorCode.INVALID_VALUE, "must be hour or day");
      };
    }

    /** The start of the first step; the last one contains the current time. */
    Instant from(Instant now) {
      long millis = step.toMillis();
      long current = Math.floorDiv(now.toEpochMilli(), millis) * millis;
      return Instant.ofEpochMilli(current).minus(length).plus(step);
    }
  }

  private Answer series(Call call) {
    Window window = Window.of(call);
    String type = call.query().typeName("type");
    List<String> types;
    if (type != null) {
      call.caller().requireAccess(type);
      types = List.of(type);
    } else {
      List<String> allowed = call.caller().types();
      types = allowed.isEmpty() ? List.of(Activity.ALL_TYPES) : allowed;
    }
    Instant now = reader.now();
    Instant from = window.from(now);
    ObjectNode json =
        JSON.objectNode()
            .put("from", Times.format(from))
            .put("to", Times.format(now))
            .put("step", window.step.toString());
    ArrayNode points = json.putArray("points");
    database
        .use(() -> activity.series(call.tenant(), types, from, now, window.step))
        .forEach(point -> points.add(StatsJson.point(point)));
    return Answer.json(200, json);
  }

  private Answer type(Call call) {
    String name = call.parameter("name");
    if (!Fields.TYPE_NAME.matcher(name).matches()) {
      throw new ApiException(
          ErrorCode.INVALID_ID,
          Echo.of(name) + " is not the name of a type; it must match " + Fields.TYPE_NAME);
    }
    call.caller().requireAccess(name);
    if (!reader.isKnownType(call.tenant(), name)) {
      throw new ApiException(ErrorCode.NOT_FOUND, "unknown type");
    }
    Stats.Overview all = stats.overview(call.tenant());
    Lately lately = stats.lately(Of.type(call.tenant(), name));
    ObjectNode json = StatsJson.type(all, name);
    json.put("at", Times.format(all.seenAt().firstOfCounts()));
    json.set("hour", StatsJson.activity(lately.hour()));
    json.set("day", StatsJson.activity(lately.day()));
    return Answer.json(200, json);
  }

  private Answer perTenant() {
    Map<TenantId, Tenant> all = new HashMap<>();
    tenants.list().forEach(tenant -> all.put(tenant.id(), tenant));
    Map<TenantId, Stats.OfTenant> numbers = stats.tenants(all.keySet());
    Lately allTenants = stats.lately(Of.ALL);
    Instant at = allTenants.minute().until();
    for (Stats.OfTenant each : numbers.values()) {
      at = each.at().isBefore(at) ? each.at() : at;
    }
    ObjectNode json = JSON.objectNode().put("at", Times.format(at));
    ObjectNode last = json.putObject("last");
    last.set("minute", StatsJson.activity(allTenants.minute()));
    last.set("hour", StatsJson.activity(allTenants.hour()));
    last.set("day", StatsJson.activity(allTenants.day()));
    ArrayNode items = json.putArray("items");
    Comparator<Map.Entry<TenantId, Stats.OfTenant>> mostFirst =
        Comparator.comparingLong(
                (Map.Entry<TenantId, Stats.OfTenant> each) -> busyness(each.getValue()))
            .reversed();
    numbers.entrySet().stream()
        .sorted(mostFirst.thenComparingInt(each -> each.getKey().value()))
        .limit(MAX_TENANTS)
        .forEach(
            each ->
                items.add(json(Objects.requireNonNull(all.get(each.getKey())), each.getValue())));
    return Answer.json(200, json.put("moreTenants", Math.max(0, all.size() - MAX_TENANTS)));
  }

  private static long busyness(Stats.OfTenant of) {
    return of.running() + of.due().tasks() + of.hour().counts().ended() + of.pending();
  }

  private static ObjectNode json(Tenant tenant, Stats.OfTenant of) {
    ObjectNode json =
        JSON.objectNode()
            .put("tenant", tenant.name())
            .put("paused", tenant.paused())
            .put("pending", of.pending())
            .put("running", of.running())
            .put("dead", of.dead())
            .put("due", of.due().tasks())
            .put("dueAtLeast", of.due().atLeast())
            .put("oldestDue", Times.formatOrNull(of.due().oldest()));
    json.set("hour", StatsJson.activity(of.hour()));
    json.set("limits", StatsJson.limits(of.usage()));
    return json;
  }
}
