package carillon.api.admin;

import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Caller;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import java.util.List;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Shows the tenant, role and permissions of the key that was sent. */
public final class MeRoute {

  private final String version;

  public MeRoute(String version) {
    this.version = version;
  }

  public List<Endpoint> endpoints() {
    return List.of(Endpoint.get("/v1/me", Permission.ANY, this::show));
  }

  private Answer show(Call call) {
    Caller caller = call.caller();
    ObjectNode me =
        JsonNodeFactory.instance
            .objectNode()
            .put("tenant", caller.tenant().name())
            .put("role", caller.role().label())
            .put("key", caller.keyId().orElse(null))
            .put("name", caller.name());
    ArrayNode types = me.putArray("types");
    caller.types().forEach(types::add);
    ArrayNode permissions = me.putArray("permissions");
    for (Permission permission : Permission.values()) {
      if (permission != Permission.NONE
          && permission != Permission.ANY
          && caller.role().may(permission)) {
        permissions.add(permission.name());
      }
    }
    return Answer.json(200, me.put("version", version));
  }
}
