package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.model.task.Lane;
import carillon.model.task.TaskType;
import carillon.store.db.Column;
import carillon.store.db.StoreException;
import carillon.store.db.Tx;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * Creates lanes of one tenant, and their types. The first insert locks the catalog's row, so nodes
 * create lanes one after the other, and the counts after the inserts are exact.
 */
final class NewLanes {

  /** Each new lane uses one or two entries of the server's lock table until the commit. */
  static final int MAX_AT_ONCE = 1_000;

  private final Tx tx;
  private final TenantId tenant;
  private final List<LaneName> wanted;

  private NewLanes(Tx tx, TenantId tenant, List<LaneName> wanted) {
    this.tx = tx;
    this.tenant = tenant;
    this.wanted = wanted;
  }

  /**
   * The types and lanes, created now or earlier.
   *
   * @param types without those that a user's transaction is creating
   * @param lanes by their requested name
   */
  record Created(List<TaskType> types, Map<LaneName, Lane> lanes) {}

  /**
   * @param wanted at most {@link #MAX_AT_ONCE}, without duplicates
   * @throws LimitReached if some of it is more than the tenant may have, with the index of the
   *     first such one
   */
  static Created create(Tx tx, TenantId tenant, List<LaneName> wanted, boolean isLimited) {
    return new NewLanes(tx, tenant, wanted).create(isLimited);
  }

  private static final String FREE_TYPES =
      """
      /* NewLanes.freeTypes */
      SELECT n.name
      FROM unnest(?::text[]) AS n (name)
      WHERE pg_try_advisory_xact_lock_shared(carillon.creation_lock(?, n.name))
      """;

  private static final String ADD_TYPES =
      """
      /* NewLanes.addTypes */
      INSERT INTO carillon.task_type (tenant, name)
      SELECT ?, n.name
      FROM unnest(?::text[]) AS n (name)
      ORDER BY n.name -- one order for all nodes, to avoid deadlocks
      ON CONFLICT DO NOTHING
      RETURNING name
      """;

  private static final String TYPES =
      """
      /* NewLanes.types */
      SELECT %s
      FROM carillon.task_type
      WHERE tenant = ?
        AND name = ANY (?)
      """
          .formatted(CatalogRows.TYPE_COLUMNS);

  private static final String FREE_LANES =
      """
      /* NewLanes.freeLanes */
      SELECT n.index
      FROM unnest(?::text[], ?::int[], ?::int[], ?::text[]) WITH ORDINALITY
           AS n (type, priority, slice, route, index)
      WHERE pg_try_advisory_xact_lock_shared(carillon.creation_lock(?, n.type, n.priority, n.slice, n.route))
      """;

  private static final String ADD_LANES =
      """
      /* NewLanes.addLanes */
      INSERT INTO carillon.lane (tenant, type, priority, slice, route)
      SELECT ?, n.type, n.priority, n.slice, n.route
      FROM unnest(?::text[], ?::int[], ?::int[], ?::text[]) AS n (type, priority, slice, route)
      ORDER BY n.type, n.priority, n.slice, n.route
      ON CONFLICT DO NOTHING
      RETURNING id, tenant, type, priority, slice, route
      """;

  private static final String LANES =
      """
      /* NewLanes.lanes */
      SELECT l.id, l.tenant, l.type, l.priority, l.slice, l.route
      FROM unnest(?::text[], ?::int[], ?::int[], ?::text[]) AS n (type, priority, slice, route)
      JOIN carillon.lane l
           ON l.tenant = ? AND l.type = n.type AND l.priority = n.priority AND l.slice = n.slice
              AND l.route = n.route
      """;

  private Created create(boolean isLimited) {
    Set<String> types = new LinkedHashSet<>();
    wanted.forEach(name -> types.add(name.type()));
    // One that a user's transaction is creating is left to it, which may take as long as it likes.
    List<String> free = tx.query(FREE_TYPES, row -> row.getString("name"), texts(types), tenant);
    Set<String> newTypes =
        new HashSet<>(tx.query(ADD_TYPES, row -> row.getString("name"), tenant, texts(free)));
    if (isLimited) {
      refuseIfOver(TenantLimit.TYPES, LaneName::type, newTypes);
    }
    Map<LaneName, LaneName> places = places();
    List<LaneName> distinct = places.values().stream().distinct().toList();
    Set<LaneName> newLanes = new HashSet<>();
    tx.query(
            ADD_LANES,
            CatalogRows::lane,
            tenant,
            Column.texts(distinct, LaneName::type),
            Column.ints(distinct, LaneName::priority),
            Column.ints(distinct, LaneName::slice),
            Column.texts(distinct, name -> name.route().text()))
        .forEach(lane -> newLanes.add(LaneName.of(lane)));
    if (isLimited) {
      refuseIfOver(TenantLimit.LANES, name -> lookUp(places, name), newLanes);
    }
    Map<LaneName, Lane> lanes = lanes(distinct);
    Map<LaneName, Lane> created = new HashMap<>();
    places.forEach((name, place) -> created.put(name, lookUp(lanes, place)));
    return new Created(tx.query(TYPES, CatalogRows::type, tenant, texts(types)), created);
  }

  /** The name to create: the next slice if a user's transaction is creating the wanted one. */
  private Map<LaneName, LaneName> places() {
    Set<Integer> free =
        new HashSet<>(
            tx.query(
                FREE_LANES,
                row -> row.getInt("index") - 1,
                Column.texts(wanted, LaneName::type),
                Column.ints(wanted, LaneName::priority),
                Column.ints(wanted, LaneName::slice),
                Column.texts(wanted, name -> name.route().text()),
                tenant));
    Map<LaneName, LaneName> places = new HashMap<>();
    for (int i = 0; i < wanted.size(); i++) {
      LaneName name = wanted.get(i);
      places.put(name, free.contains(i) ? name : name.nextSlice());
    }
    return places;
  }

  private Map<LaneName, Lane> lanes(List<LaneName> names) {
    Map<LaneName, Lane> lanes = new HashMap<>();
    tx.query(
            LANES,
            CatalogRows::lane,
            Column.texts(names, LaneName::type),
            Column.ints(names, LaneName::priority),
            Column.ints(names, LaneName::slice),
            Column.texts(names, name -> name.route().text()),
            tenant)
        .forEach(lane -> lanes.put(LaneName.of(lane), lane));
    return lanes;
  }

  /**
   * @param of the created thing that a wanted lane needs
   */
  private <T> void refuseIfOver(TenantLimit limit, Function<LaneName, T> of, Set<T> created) {
    if (created.isEmpty()) {
      return;
    }
    TenantLimits.Used now = TenantLimits.usage(tx, tenant, limit);
    int over = now.used() - now.max();
    if (over > 0) {
      throw new LimitReached(limit, now.max(), oneTooMany(of, created, created.size() - over));
    }
  }

  /** The index of the first that is wanted after there is no room left. */
  private <T> int oneTooMany(Function<LaneName, T> of, Set<T> created, int room) {
    Set<T> seen = new HashSet<>();
    for (int i = 0; i < wanted.size(); i++) {
      T each = of.apply(wanted.get(i));
      if (created.contains(each) && seen.add(each) && seen.size() > room) {
        return i;
      }
    }
    return 0;
  }

  private static <K, V> V lookUp(Map<K, V> map, K key) {
    V value = map.get(key);
    if (value == null) {
      throw new StoreException(key + " was created and is not there");
    }
    return value;
  }

  private static Column texts(Iterable<String> texts) {
    List<String> list = new ArrayList<>();
    texts.forEach(list::add);
    return Column.texts(list, text -> text);
  }
}
