package carillon.api;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Says whose key this is and what it may do. */
final class MeRoute {

  private static final String KEY = "key:";

  private final String version;

  MeRoute(String version) {
    this.version = version;
  }

  List<Endpoint> endpoints() {
    return List.of(Endpoint.get("/v1/me", Permission.ANY, this::show));
  }

  private Answer show(Call call) {
    Caller caller = call.caller();
    ObjectNode me =
        JsonNodeFactory.instance
            .objectNode()
            .put("tenant", caller.tenant().name())
            .put("role", caller.role().label())
            .put("key", key(caller))
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

  /** Null for the key that the installation began with: it is no row. */
  private static @Nullable String key(Caller caller) {
    return caller.who().startsWith(KEY) ? caller.who().substring(KEY.length()) : null;
  }
}
