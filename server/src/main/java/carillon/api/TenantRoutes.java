package carillon.api;

import carillon.model.Echo;
import carillon.store.Tenant;
import carillon.store.Tenants;
import java.util.List;
import java.util.Set;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Makes and configures tenants, for admins. */
final class TenantRoutes {

  private static final int MAX_WEIGHT = 1000;

  private final Tenants tenants;
  private final DatabaseGate database;
  private final Lists lists;

  TenantRoutes(Tenants tenants, DatabaseGate database, Lists lists) {
    this.tenants = tenants;
    this.database = database;
    this.lists = lists;
  }

  List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get("/v1/tenants", Permission.TENANTS, this::list),
        Endpoint.get("/v1/tenants/{name}", Permission.TENANTS, this::show),
        Endpoint.put("/v1/tenants/{name}", Permission.TENANTS, this::put));
  }

  private Answer list(Call call) {
    List<Tenant> all = database.use(tenants::list);
    return lists.answer(call, all.stream().map(TenantRoutes::json).toList(), null);
  }

  private Answer show(Call call) {
    String name = name(call);
    return database
        .use(() -> tenants.find(name))
        .map(tenant -> Answer.json(200, json(tenant)))
        .orElseThrow(() -> new ApiException(ErrorCode.NOT_FOUND, "there is no such tenant"));
  }

  private Answer put(Call call) {
    String name = name(call);
    Fields fields = call.fields();
    Boolean strict = fields.bool("strict");
    Boolean paused = fields.bool("paused");
    Integer weight = fields.integer("weight", 1, MAX_WEIGHT);
    fields.done(Set.of("name"));
    fields.mistakes().refuse();
    Tenant tenant =
        database.use(
            () ->
                tenants.put(
                    name,
                    strict != null && strict,
                    paused != null && paused,
                    weight == null ? 1 : weight,
                    call.caller().who()));
    return Answer.json(200, json(tenant));
  }

  private static String name(Call call) {
    String name = call.parameter("name");
    if (!Auth.TENANT_NAME.matcher(name).matches()) {
      throw new ApiException(
          ErrorCode.INVALID_ID, Echo.of(name) + " is not a tenant's name: " + Auth.TENANT_NAME);
    }
    return name;
  }

  private static ObjectNode json(Tenant tenant) {
    return JsonNodeFactory.instance
        .objectNode()
        .put("name", tenant.name())
        .put("strict", tenant.strict())
        .put("paused", tenant.paused())
        .put("weight", tenant.weight());
  }
}
