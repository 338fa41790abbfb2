package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.model.task.Lane;
import carillon.model.task.TaskType;
import carillon.store.db.Tx;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The tenants and types of one catalog version.
 *
 * @param ofLanes caches the type of each lane: a claim needs it for every lane with due tasks
 */
record CatalogSnapshot(
    long version,
    Map<Integer, Tenant> tenants,
    Map<String, Tenant> tenantsByName,
    Map<TypeName, TaskType> types,
    Map<Integer, OfLane> ofLanes) {

  static final CatalogSnapshot EMPTY = new CatalogSnapshot(0, Map.of(), Map.of(), Map.of());

  /** Identifies a type across tenants. */
  record TypeName(int tenant, String name) {}

  /**
   * The type of a lane. Stores the lane too, because after a failover the same id may belong to
   * another lane.
   */
  record OfLane(Lane lane, TaskType type) {}

  CatalogSnapshot(
      long version,
      Map<Integer, Tenant> tenants,
      Map<String, Tenant> tenantsByName,
      Map<TypeName, TaskType> types) {
    this(version, tenants, tenantsByName, types, new ConcurrentHashMap<>());
  }

  TaskType type(TenantId tenant, String name) {
    TaskType type = types.get(new TypeName(tenant.value(), name));
    return type == null ? TaskType.withDefaults(name) : type;
  }

  TaskType type(Lane lane) {
    OfLane known = ofLanes.get(lane.id());
    if (known != null && known.lane().equals(lane)) {
      return known.type();
    }
    TaskType type = type(lane.tenant(), lane.type());
    ofLanes.put(lane.id(), new OfLane(lane, type));
    return type;
  }

  CatalogSnapshot with(Tenant tenant) {
    Map<Integer, Tenant> byId = new HashMap<>(tenants);
    byId.put(tenant.id().value(), tenant);
    Map<String, Tenant> byName = new HashMap<>(tenantsByName);
    byName.put(tenant.name(), tenant);
    return new CatalogSnapshot(version, byId, byName, types);
  }

  /** Adds several types at once, because each call copies all types. */
  CatalogSnapshot with(TenantId tenant, List<TaskType> created) {
    Map<TypeName, TaskType> more = new HashMap<>(types);
    created.forEach(type -> more.put(new TypeName(tenant.value(), type.name()), type));
    return new CatalogSnapshot(version, tenants, tenantsByName, more);
  }

  boolean hasType(TenantId tenant, String name) {
    return types.containsKey(new TypeName(tenant.value(), name));
  }

  /** A snapshot that the next refresh replaces, whatever its version. */
  CatalogSnapshot outdated() {
    return new CatalogSnapshot(0, tenants, tenantsByName, types);
  }

  private static final String TENANTS =
      """
      /* CatalogSnapshot.read */
      SELECT id, name, strict, paused, weight, alert, publish, max_types, max_lanes, max_schedules, max_keys
      FROM carillon.tenant
      ORDER BY name
      """;

  private static final String TYPES =
      """
      /* CatalogSnapshot.readTypes */
      SELECT %s
      FROM carillon.task_type
      """
          .formatted(CatalogRows.TYPE_COLUMNS);

  static CatalogSnapshot read(Tx tx, long version) {
    Map<Integer, Tenant> tenants = new HashMap<>();
    Map<String, Tenant> byName = new HashMap<>();
    for (Tenant tenant : tx.query(TENANTS, CatalogRows::tenant)) {
      tenants.put(tenant.id().value(), tenant);
      byName.put(tenant.name(), tenant);
    }
    Map<TypeName, TaskType> types = new HashMap<>();
    tx.query(
            TYPES,
            row ->
                Map.entry(
                    new TypeName(row.getInt("tenant"), row.getString("name")),
                    CatalogRows.type(row)))
        .forEach(t -> types.put(t.getKey(), t.getValue()));
    return new CatalogSnapshot(version, Map.copyOf(tenants), Map.copyOf(byName), Map.copyOf(types));
  }
}
