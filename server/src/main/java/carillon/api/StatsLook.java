package carillon.api;

import carillon.model.TenantId;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** What {@code GET /v1/stats} answers, for many tenants by one look. */
@FunctionalInterface
interface StatsLook {

  /** By tenant, the JSON that is for who may see these types only; none means all. */
  Map<TenantId, Function<List<String>, String>> of(Set<TenantId> tenants);

  static StatsLook by(Stats stats) {
    return tenants -> {
      Map<TenantId, Function<List<String>, String>> all = new HashMap<>();
      stats
          .json(tenants)
          .forEach(
              (tenant, json) ->
                  all.put(tenant, types -> types.isEmpty() ? json : stats.json(tenant, types)));
      return all;
    };
  }
}
