package carillon.store.catalog;

import carillon.model.Signal;
import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.Lane;
import carillon.model.task.Route;
import carillon.model.task.TaskType;
import carillon.store.db.Db;
import carillon.store.db.StoreException;
import carillon.store.db.Tx;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Tenants, types and lanes, in memory. Read again when their version in the database has changed,
 * so what another node changed is seen within one refresh (a second), and what this one changed at
 * once.
 */
public final class Catalog {

  private final Db db;
  private final Signal workDue;
  private final Lanes lanes = new Lanes();
  private final Map<LaneName, Long> beingMade =
      new ConcurrentHashMap<>(); // until when to believe it
  private volatile int history; // how often all was forgotten
  private long newest; // version of a tenant that was added to the snapshot; guarded by this
  private volatile Snapshot snapshot = new Snapshot(0, Map.of(), Map.of(), Map.of());

  private static final Duration BELIEVED = Duration.ofSeconds(1);
  private static final int MAX_TRIES = 5;

  /**
   * @param workDue raised after every change: a resumed type may have tasks that are due
   */
  public Catalog(Db db, Signal workDue) {
    this.db = db;
    this.workDue = workDue;
  }

  /** Names a type across tenants. */
  private record TypeName(int tenant, String name) {}

  /** Names a lane before it has a number. */
  record LaneName(int tenant, String type, int priority, int slice, Route route) {

    static LaneName of(Lane lane) {
      return new LaneName(
          lane.tenant().value(), lane.type(), lane.priority(), lane.slice(), lane.route());
    }

    LaneName nextSlice() {
      return new LaneName(tenant, type, priority, slice + 1, route);
    }
  }

  /** All known lanes. They are never changed or removed, so they only gather. */
  private static final class Lanes {
    private final Map<Integer, Lane> byId = new ConcurrentHashMap<>();
    private final Map<LaneName, Lane> byName = new ConcurrentHashMap<>();

    void add(Lane lane) {
      byId.put(lane.id(), lane);
      byName.put(LaneName.of(lane), lane);
    }
  }

  /** A lane as who asked knew it: after a failover its number may be another's. */
  private record OfLane(Lane lane, TaskType type) {}

  /**
   * All of it at one version.
   *
   * @param ofLanes the types of lanes, as far as somebody asked: a claim asks for every lane that
   *     has something due
   */
  private record Snapshot(
      long version,
      Map<Integer, Tenant> tenants,
      Map<String, Tenant> tenantsByName,
      Map<TypeName, TaskType> types,
      Map<Integer, OfLane> ofLanes) {

    Snapshot(
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

    Snapshot with(Tenant tenant) {
      Map<Integer, Tenant> byId = new HashMap<>(tenants);
      byId.put(tenant.id().value(), tenant);
      Map<String, Tenant> byName = new HashMap<>(tenantsByName);
      byName.put(tenant.name(), tenant);
      return new Snapshot(version, byId, byName, types);
    }

    /** With several at once, because all others are copied for it. */
    Snapshot with(TenantId tenant, List<TaskType> made) {
      Map<TypeName, TaskType> more = new HashMap<>(types);
      made.forEach(type -> more.put(new TypeName(tenant.value(), type.name()), type));
      return new Snapshot(version, tenants, tenantsByName, more);
    }
  }

  /** The lane with this number, also one that another node has just made. */
  public Lane lane(int id) {
    Lane lane = lanes.byId.get(id);
    if (lane == null) {
      refresh();
      synchronized (this) { // somebody else's refresh may be adding it just now
        lane = lanes.byId.get(id);
      }
    }
    if (lane == null) {
      throw new StoreException("lane " + id + " is in no table");
    }
    return lane;
  }

  /** The same if this process knows it already. Never asks the database. */
  public Optional<Lane> knownLane(int id) {
    return Optional.ofNullable(lanes.byId.get(id));
  }

  public Collection<Lane> lanes() {
    return lanes.byId.values();
  }

  /** The settings of a type; the defaults if it has none. */
  public TaskType type(TenantId tenant, String name) {
    return snapshot.type(tenant, name);
  }

  /** The same of the type that a lane is of. */
  public TaskType type(Lane lane) {
    return snapshot.type(lane);
  }

  /** The names of a tenant's types that may start nothing now. */
  public Set<String> pausedTypes(TenantId tenant) {
    Set<String> paused = new HashSet<>();
    snapshot
        .types()
        .forEach(
            (name, type) -> {
              if (name.tenant() == tenant.value() && type.paused()) {
                paused.add(name.name());
              }
            });
    return paused;
  }

  public boolean isKnownType(TenantId tenant, String name) {
    return snapshot.types().containsKey(new TypeName(tenant.value(), name));
  }

  /** The lanes of a type that this process knows. */
  public List<Lane> lanes(TenantId tenant, String type) {
    return lanes.byId.values().stream()
        .filter(lane -> lane.tenant().equals(tenant) && lane.type().equals(type))
        .toList();
  }

  public Tenant tenant(TenantId id) {
    Tenant tenant = snapshot.tenants().get(id.value());
    if (tenant == null) {
      refresh(); // another node has just made it
      tenant = snapshot.tenants().get(id.value());
    }
    if (tenant == null) {
      throw new StoreException("tenant " + id.value() + " is in no table");
    }
    return tenant;
  }

  Optional<Tenant> tenant(String name) {
    return Optional.ofNullable(snapshot.tenantsByName().get(name));
  }

  List<Tenant> tenants() {
    return List.copyOf(snapshot.tenants().values());
  }

  /** Whether engines may claim from the lane now. Never asks the database. */
  public boolean isPushedNow(int lane) {
    Lane known = lanes.byId.get(lane);
    if (known == null) {
      return false; // made by another node a moment ago: known after the next refresh
    }
    TaskType type = type(known);
    return !known.route().isPulled(type.target()) && !isPaused(known, type);
  }

  /** Whether the lane's tasks are for engines and not for workers, be it that they are paused. */
  public boolean isPushed(int lane) {
    Lane known = lanes.byId.get(lane);
    return known != null && !known.route().isPulled(type(known).target());
  }

  /** Whether the lane's tasks are only kept and never sent, as far as their type says. */
  public boolean isDiscardedNow(int lane) {
    return targetNow(lane) instanceof Target.Discard;
  }

  /** Whether the lane's tasks are for engines, but neither kept nor published to a broker. */
  public boolean isSentNow(int lane) {
    Lane known = lanes.byId.get(lane);
    return known != null
        && switch (known.route().kind()) {
          case TYPE -> type(known).target() instanceof Target.Http;
          case PUSH -> true;
          case PULL, PUBLISH, REPORT -> false;
        };
  }

  /** The broker to which the lane's tasks are published. */
  public Optional<BrokerName> brokerNow(int lane) {
    Lane known = lanes.byId.get(lane);
    return known == null ? Optional.empty() : Optional.ofNullable(routeNow(known).broker());
  }

  /** Whether the lane's tasks end by what their consumers report, and not by a confirm. */
  public boolean isReportedNow(int lane) {
    Lane known = lanes.byId.get(lane);
    return known != null && routeNow(known).kind() == Route.Kind.REPORT;
  }

  private Route routeNow(Lane lane) {
    return lane.route().given(type(lane).target());
  }

  /** The target of the type, where the lane's tasks follow it. */
  public @Nullable Target targetNow(int lane) {
    Lane known = lanes.byId.get(lane);
    return known == null || known.route().kind() != Route.Kind.TYPE ? null : type(known).target();
  }

  /** Whether workers may claim from the lane now. */
  public boolean isPulledNow(Lane lane) {
    TaskType type = type(lane);
    return lane.route().isPulled(type.target()) && !isPaused(lane, type);
  }

  private boolean isPaused(Lane lane, TaskType type) {
    Tenant tenant = snapshot.tenants().get(lane.tenant().value());
    return type.paused() || tenant == null || tenant.paused(); // known after the next refresh
  }

  private static final String MAY_MAKE_TYPE =
      """
      /* Catalog.mayMakeType */
      SELECT pg_try_advisory_xact_lock_shared(carillon.making(?, ?)) AS free
      """;

  private static final String MAY_MAKE_LANE =
      """
      /* Catalog.mayMakeLane */
      SELECT pg_try_advisory_xact_lock_shared(carillon.making(?, ?, ?, ?, ?)) AS free
      """;

  /**
   * A lane with these properties, made if need be; in a transaction of its own, because it locks
   * the catalog's row. While a user's transaction is making the very same one, which may take as
   * long as that likes, it is the next slice's; and then nothing is written for each task that asks
   * again.
   *
   * @throws LimitReached if it is new and the tenant has as many types or lanes as it may have
   */
  public Lane laneFor(TenantId tenant, String type, int priority, int slice, Route route) {
    return laneFor(new LaneName(tenant.value(), type, priority, slice, route), true);
  }

  /**
   * A lane for a task that nobody sends in just now, such as a callback or the fire of a schedule.
   * It is never refused: there are few of these lanes, and what made them necessary was accepted.
   */
  public Lane ownLaneFor(TenantId tenant, String type, int priority, int slice, Route route) {
    return laneFor(new LaneName(tenant.value(), type, priority, slice, route), false);
  }

  private Lane laneFor(LaneName name, boolean isLimited) {
    Lane known = usable(name);
    return known == null ? Objects.requireNonNull(make(List.of(name), isLimited).get(name)) : known;
  }

  /** Null if it has to be made. */
  private @Nullable Lane usable(LaneName name) {
    Lane lane = lanes.byName.get(name);
    if (lane != null && isKnownType(new TenantId(name.tenant()), name.type())) {
      return lane; // otherwise the type may have been deleted since
    }
    Lane known = lane == null ? lanes.byName.get(name.nextSlice()) : lane;
    return known != null && isBeingMade(name, lane == null) ? known : null;
  }

  /**
   * Lanes for several tasks of one tenant: up to {@link NewLanes#MOST_AT_ONCE} that are new are
   * created together, or none; more in parts.
   *
   * <p>A batch that fails afterwards, or between two parts, leaves lanes and types without tasks.
   * They do no harm: the same batch sent again finds and uses them, and no task can be in a lane
   * that its own transaction did not see. Until then each takes some 0.5 KiB on every node, one
   * look of the sweep, and a place of the tenant's own limits; the types can be deleted.
   */
  public final class Gathering {
    private final TenantId tenant;
    private final LaneName[] names;
    private final Map<LaneName, Lane> found = new HashMap<>();
    private final Map<LaneName, Integer> unknown = new LinkedHashMap<>(); // with its first task

    private Gathering(TenantId tenant, int tasks) {
      this.tenant = tenant;
      this.names = new LaneName[tasks];
    }

    /** Says what lane the task with this index needs. */
    public void want(int index, String type, int priority, int slice, Route route) {
      LaneName name = new LaneName(tenant.value(), type, priority, slice, route);
      names[index] = name;
      if (!found.containsKey(name) && !unknown.containsKey(name)) {
        Lane known = usable(name);
        if (known == null) {
          unknown.put(name, index);
        } else {
          found.put(name, known);
        }
      }
    }

    /** The task with this index needs the lane of the one before it. */
    public void wantSame(int index) {
      names[index] = names[index - 1];
    }

    /**
     * Makes what is new.
     *
     * @param isLimited whether the tenant's limits are kept to
     * @throws LimitReached with the index of the task that is one too many; then nothing was made,
     *     unless it takes several parts and another request took the room between two of them
     */
    public Gathering make(boolean isLimited) {
      if (unknown.size() > NewLanes.MOST_AT_ONCE && isLimited) {
        refuseTooMany();
      }
      List<LaneName> all = List.copyOf(unknown.keySet());
      for (int from = 0; from < all.size(); from += NewLanes.MOST_AT_ONCE) {
        List<LaneName> some = all.subList(from, Math.min(all.size(), from + NewLanes.MOST_AT_ONCE));
        try {
          found.putAll(Catalog.this.make(some, isLimited));
        } catch (LimitReached e) {
          throw e.at(indexOf(some.get(e.index())));
        }
      }
      unknown.clear();
      return this;
    }

    public Lane lane(int index) {
      return Objects.requireNonNull(found.get(names[index]));
    }

    private int indexOf(LaneName name) {
      return Objects.requireNonNull(unknown.get(name));
    }

    /**
     * So many are made by several transactions. Only what comes in between can be in the way of a
     * later one after this look.
     */
    private void refuseTooMany() {
      refresh(); // others may have made some of them
      unknown.keySet().removeIf(name -> isNowKnown(name));
      refuseTooMany(TenantLimit.TYPES, LaneName::type, name -> !isKnownType(tenant, name.type()));
      refuseTooMany(TenantLimit.LANES, name -> name, _ -> true);
    }

    private boolean isNowKnown(LaneName name) {
      Lane known = usable(name);
      if (known != null) {
        found.put(name, known);
      }
      return known != null;
    }

    private <T> void refuseTooMany(
        TenantLimit limit, Function<LaneName, T> of, Predicate<LaneName> isNew) {
      TenantLimits.Used now = db.autoCommit(tx -> TenantLimits.usage(tx, tenant, limit));
      Set<T> seen = new HashSet<>();
      unknown.forEach(
          (name, index) -> {
            if (isNew.test(name)
                && seen.add(of.apply(name))
                && seen.size() > now.max() - now.used()) {
              throw new LimitReached(limit, now.max(), index);
            }
          });
    }
  }

  public Gathering gather(TenantId tenant, int tasks) {
    return new Gathering(tenant, tasks);
  }

  private Map<LaneName, Lane> make(List<LaneName> names, boolean isLimited) {
    TenantId tenant = new TenantId(names.getFirst().tenant());
    Made made =
        db.inTransaction(
            tx -> {
              int before = history;
              NewLanes.Made all = NewLanes.make(tx, tenant, names, isLimited);
              return new Made(before, version(tx), tenant, all);
            });
    add(made);
    return made.all().lanes();
  }

  /** Whether a user's transaction makes the lane or its type; asked at most once a second. */
  private boolean isBeingMade(LaneName name, boolean isNewLane) {
    Long until = beingMade.get(name);
    if (until != null && System.nanoTime() - until < 0) {
      return true;
    }
    TenantId tenant = new TenantId(name.tenant());
    boolean isHeld =
        isNewLane
            && !db.autoCommit(
                tx ->
                    isFree(
                        tx,
                        MAY_MAKE_LANE,
                        tenant,
                        name.type(),
                        name.priority(),
                        name.slice(),
                        name.route().text()));
    if (!isHeld && !isKnownType(tenant, name.type())) {
      isHeld = !db.autoCommit(tx -> isFree(tx, MAY_MAKE_TYPE, tenant, name.type()));
    }
    if (isHeld) {
      beingMade.put(name, System.nanoTime() + BELIEVED.toNanos());
    } else {
      beingMade.remove(name);
    }
    return isHeld;
  }

  /** Lets users' transactions that count types know of one that is not committed yet. */
  static void saysItMakes(Tx tx, TenantId tenant, String type) {
    isFree(tx, MAY_MAKE_TYPE, tenant, type);
  }

  private static boolean isFree(Tx tx, String lock, Object... name) {
    return tx.query(lock, row -> row.getBoolean("free"), name).getFirst();
  }

  private record Made(int history, long version, TenantId tenant, NewLanes.Made all) {}

  /**
   * The snapshot's version stays as it is, so the next refresh still reads whatever else is new.
   * One that is as new as what was made has it, and perhaps what became of it since.
   */
  private synchronized void add(Made made) {
    if (made.history() != history) {
      return;
    }
    if (snapshot.version() < made.version() && !made.all().types().isEmpty()) {
      snapshot = snapshot.with(made.tenant(), made.all().types());
    }
    made.all().lanes().values().forEach(lanes::add);
  }

  /** A tenant as it was written, before that is committed. */
  record Written(Tenant tenant, int history, long version) {}

  Written written(Tx tx, Tenant tenant) {
    return new Written(tenant, history, version(tx));
  }

  /**
   * A tenant was made or changed here. Only it is new: to read all types of all tenants for that
   * would cost a thousand of them what they are worth. Whatever else is new the next refresh reads.
   */
  void put(Written written) {
    if (!isPut(written)) {
      refresh();
    }
  }

  private synchronized boolean isPut(Written written) {
    if (written.history() != history || written.version() < newest) {
      return false; // nobody knows what became of it since
    }
    if (snapshot.version() < written.version()) {
      newest = written.version();
      snapshot = snapshot.with(written.tenant());
      workDue.raise();
      return true;
    }
    // Users' changes count as well, so a snapshot may have this version and not this tenant.
    return written.tenant().equals(snapshot.tenants().get(written.tenant().id().value()));
  }

  private static final String VERSION =
      """
      /* Catalog.version */
      SELECT c.version + (SELECT count(*) FROM carillon.catalog_change) AS version
      FROM carillon.catalog c
      """;

  private static final String SECRET =
      """
      /* Catalog.secret */
      SELECT secret
      FROM carillon.catalog
      """;

  /** What the nodes of this installation, and nobody else, know. */
  public byte[] secret() {
    return db.inTransaction(tx -> tx.query(SECRET, row -> row.getBytes("secret")).getFirst());
  }

  private static final String TENANTS =
      """
      /* Catalog.tenants */
      SELECT id, name, strict, paused, weight, alert, publish, max_types, max_lanes, max_schedules, max_keys
      FROM carillon.tenant
      ORDER BY name
      """;

  private static final String TYPES =
      """
      /* Catalog.types */
      SELECT %s
      FROM carillon.task_type
      """
          .formatted(CatalogRows.TYPE_COLUMNS);

  private static final String LANES =
      """
      /* Catalog.lanes */
      SELECT id, tenant, type, priority, slice, route
      FROM carillon.lane
      """;

  private static final String LANES_AFTER =
      """
      /* Catalog.lanesAfter */
      SELECT id, tenant, type, priority, slice, route
      FROM carillon.lane
      WHERE id > ?
      """;

  private static final String LANE_COUNT =
      """
      /* Catalog.laneCount */
      SELECT count(*) AS lanes
      FROM carillon.lane
      """;

  /** Reads tenants and types again, and what lanes are new, if anything has changed since. */
  public void refresh() {
    if (db.autoCommit(Catalog::version) > snapshot.version()) {
      boolean isRead = false;
      for (int tries = 0; !isRead && tries < MAX_TRIES; tries++) {
        isRead = db.inTransaction(this::readOnce); // unless a tenant was put meanwhile
      }
    }
  }

  private boolean readOnce(Tx tx) {
    // Both first: what changes while we read the rest only makes us read it once more.
    int before = history;
    long version = version(tx);
    return version <= snapshot.version() || publish(before, read(tx, version), unknownLanes(tx));
  }

  /** Those that have come last, or all if others are missing: they need not come in their order. */
  private List<Lane> unknownLanes(Tx tx) {
    Set<Integer> known = new HashSet<>(lanes.byId.keySet());
    int last = known.stream().mapToInt(Integer::intValue).max().orElse(0);
    List<Lane> more = tx.query(LANES_AFTER, CatalogRows::lane, last);
    more.forEach(lane -> known.add(lane.id()));
    int count = tx.query(LANE_COUNT, row -> row.getInt("lanes")).getFirst();
    return known.size() == count ? more : tx.query(LANES, CatalogRows::lane);
  }

  /**
   * The database has another history, in which the number of a lane may mean another one, and that
   * of a version other settings. Those are good enough until the next refresh, the lanes are not,
   * nor is what somebody is reading just now.
   */
  @SuppressWarnings("NonAtomicVolatileUpdate") // only who holds the lock writes it
  public synchronized void forget() {
    history++;
    newest = 0;
    snapshot = new Snapshot(0, snapshot.tenants(), snapshot.tenantsByName(), snapshot.types());
    lanes.byId.clear();
    lanes.byName.clear();
    beingMade.clear();
  }

  private static long version(Tx tx) {
    return tx.query(VERSION, row -> row.getLong("version")).getFirst();
  }

  /**
   * Of two who read at the same time the slower one must not undo what the faster one saw. False if
   * it has to be read again.
   */
  private synchronized boolean publish(int before, Snapshot read, List<Lane> known) {
    if (before == history && read.version() < newest) {
      return false;
    }
    if (before == history && read.version() > snapshot.version()) {
      snapshot = read; // before its lanes: none must be seen without the settings of its type
      known.forEach(lanes::add);
      workDue.raise();
    }
    return true;
  }

  private static Snapshot read(Tx tx, long version) {
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
    return new Snapshot(version, Map.copyOf(tenants), Map.copyOf(byName), Map.copyOf(types));
  }
}
