package carillon.api.admin;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.Answer;
import carillon.api.http.Auth;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.json.Fields;
import carillon.api.targets.TargetFields;
import carillon.model.Echo;
import carillon.model.TenantLimit;
import carillon.model.target.Grants;
import carillon.model.target.Target;
import carillon.model.task.AlertRule;
import carillon.model.task.AlertSetting;
import carillon.store.catalog.Tenant;
import carillon.store.catalog.TenantLimits;
import carillon.store.catalog.Tenants;
import carillon.store.db.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Creates and configures tenants, for admins. */
public final class TenantRoutes {

  private static final int MAX_WEIGHT = 1000;

  private static final Set<String> READ_ONLY = Set.of("name");

  private final Tenants tenants;
  private final TargetFields targets;
  private final DatabaseGate database;
  private final Paging paging;

  public TenantRoutes(Tenants tenants, TargetFields targets, DatabaseGate database, Paging paging) {
    this.tenants = tenants;
    this.targets = targets;
    this.database = database;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get("/v1/tenants", Permission.TENANTS, this::list),
        Endpoint.get("/v1/tenants/{name}", Permission.TENANTS, this::show),
        Endpoint.put("/v1/tenants/{name}", Permission.TENANTS, this::put));
  }

  private Answer list(Call call) {
    List<Tenant> all = database.use(tenants::list);
    return paging.answer(call, all.stream().map(TenantRoutes::json).toList(), null);
  }

  private Answer show(Call call) {
    String name = name(call);
    return database
        .use(() -> tenants.find(name))
        .map(tenant -> Answer.json(200, json(tenant)))
        .orElseThrow(() -> new ApiException(ErrorCode.NOT_FOUND, "unknown tenant"));
  }

  private Answer put(Call call) {
    String name = name(call);
    Fields fields = call.fields();
    Boolean strict = fields.bool("strict");
    Boolean paused = fields.bool("paused");
    Integer weight = fields.integer("weight", 1, MAX_WEIGHT);
    AlertSetting alert = alert(fields);
    Grants publish = publish(fields);
    TenantLimits.Own limits =
        new TenantLimits.Own(
            max(fields, TenantLimit.TYPES),
            max(fields, TenantLimit.LANES),
            max(fields, TenantLimit.SCHEDULES),
            max(fields, TenantLimit.KEYS));
    fields.doneExcept(READ_ONLY);
    if (fields.hasAny(READ_ONLY)) {
      Optional<Tenant> now = database.use(() -> tenants.find(name));
      fields.requireUnchanged(READ_ONLY, now.map(TenantRoutes::json).orElse(null));
    }
    fields.errors().throwIfAny();
    Tenants.Settings settings =
        new Tenants.Settings(
            strict != null && strict,
            paused != null && paused,
            weight == null ? 1 : weight,
            alert,
            publish,
            limits);
    Tenant tenant =
        TargetFields.reportingUnknownSecrets(
            () -> database.use(() -> tenants.put(name, settings, call.caller().who())));
    return Answer.json(200, json(tenant));
  }

  /** Omitted or null, the limit of the installation applies. */
  private static @Nullable Integer max(Fields fields, TenantLimit limit) {
    return fields.integer(field(limit), 1, TenantLimits.MAX);
  }

  private static String field(TenantLimit limit) {
    String label = limit.label();
    return "max" + Character.toUpperCase(label.charAt(0)) + label.substring(1);
  }

  /** Omitted or null, the grants of the installation apply. */
  private static @Nullable Grants publish(Fields fields) {
    if (!fields.has("publish")) {
      return null;
    }
    List<Grants.Grant> grants = new ArrayList<>();
    List<String> texts = fields.strings("publish", Grants.MAX);
    for (int i = 0; i < texts.size(); i++) {
      Optional<Grants.Grant> grant = Grants.Grant.parse(texts.get(i));
      grant.ifPresent(grants::add);
      if (grant.isEmpty()) {
        fields
            .errors()
            .add(fields.at("publish") + "/" + i, ErrorCode.INVALID_VALUE, "must be " + Grants.RULE);
      }
    }
    return new Grants(grants);
  }

  /** Omitted, the alert of the installation applies; null means no alerts. */
  private AlertSetting alert(Fields parent) {
    if (parent.isNull("alert")) {
      return new AlertSetting.Off();
    }
    Fields fields = parent.object("alert");
    if (fields == null) {
      return new AlertSetting.Inherited();
    }
    Target target = fields.required("target", targets.http(fields, "target"));
    Integer deaths = fields.integer("deaths", 1, AlertRule.MAX_DEATHS);
    Duration within = fields.duration("within", AlertRule.MIN_WITHIN, AlertRule.MAX_WITHIN);
    fields.done();
    return target == null
        ? new AlertSetting.Off()
        : new AlertSetting.Own(
            new AlertRule(
                target,
                deaths == null ? AlertRule.DEFAULT_DEATHS : deaths,
                within == null ? AlertRule.DEFAULT_WITHIN : within));
  }

  private static String name(Call call) {
    String name = call.parameter("name");
    if (!Auth.TENANT_NAME.matcher(name).matches()) {
      throw new ApiException(
          ErrorCode.INVALID_ID,
          Echo.of(name) + " is not the name of a tenant; it must match " + Auth.TENANT_NAME);
    }
    return name;
  }

  private static ObjectNode json(Tenant tenant) {
    ObjectNode node =
        JsonNodeFactory.instance
            .objectNode()
            .put("name", tenant.name())
            .put("strict", tenant.strict())
            .put("paused", tenant.paused())
            .put("weight", tenant.weight());
    switch (tenant.alert()) {
      case AlertSetting.Inherited() -> {} // omitted, as when it was set
      case AlertSetting.Off() -> node.putNull("alert");
      case AlertSetting.Own(var rule) -> node.set("alert", Json.shown(rule));
    }
    Grants publish = tenant.publish();
    if (publish != null && publish.all() != null) {
      ArrayNode list = node.putArray("publish");
      publish.all().forEach(grant -> list.add(grant.text()));
    }
    for (TenantLimit limit : TenantLimit.values()) {
      Integer max = tenant.limits().of(limit);
      if (max != null) {
        node.put(field(limit), max);
      }
    }
    return node;
  }
}
