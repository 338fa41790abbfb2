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
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Tenants, types and lanes in memory. They are read again when their version in the database has
 * changed: this node sees its own changes at once, and those of other nodes within a second.
 */
public final class Catalog {

  private final Db db;
  private final Signal workDue;
  private final Lanes lanes = new Lanes();
  private final Map<LaneName, Long> beingCreated =
      new ConcurrentHashMap<>(); // until when that is assumed
  private volatile int epoch; // how often everything was forgotten
  private long newest; // version of the last tenant added to the snapshot; guarded by this
  private volatile CatalogSnapshot snapshot = CatalogSnapshot.EMPTY;

  private static final Duration BELIEVED_FOR = Duration.ofSeconds(1);
  private static final int MAX_TRIES = 5;

  /**
   * @param workDue raised after every change: a resumed type may have tasks that are due
   */
  public Catalog(Db db, Signal workDue) {
    this.db = db;
    this.workDue = workDue;
  }

  /** All known lanes. Lanes are never changed or removed. */
  private static final class Lanes {
    private final Map<Integer, Lane> byId = new ConcurrentHashMap<>();
    private final Map<LaneName, Lane> byName = new ConcurrentHashMap<>();

    void add(Lane lane) {
      byId.put(lane.id(), lane);
      byName.put(LaneName.of(lane), lane);
    }
  }

  /** The lane with this id, even if another node has just created it. */
  public Lane lane(int id) {
    Lane lane = lanes.byId.get(id);
    if (lane == null) {
      refresh();
      synchronized (this) { // a refresh on another thread may be adding it now
        lane = lanes.byId.get(id);
      }
    }
    if (lane == null) {
      throw new StoreException("lane " + id + " does not exist");
    }
    return lane;
  }

  /** The lane if this process knows it. Never queries the database. */
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

  /** The settings of a lane's type. */
  public TaskType type(Lane lane) {
    return snapshot.type(lane);
  }

  /** The names of a tenant's paused types. */
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
    return snapshot.hasType(tenant, name);
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
      refresh(); // another node may have just created it
      tenant = snapshot.tenants().get(id.value());
    }
    if (tenant == null) {
      throw new StoreException("tenant " + id.value() + " does not exist");
    }
    return tenant;
  }

  Optional<Tenant> tenant(String name) {
    return Optional.ofNullable(snapshot.tenantsByName().get(name));
  }

  List<Tenant> tenants() {
    return List.copyOf(snapshot.tenants().values());
  }

  /** Whether engines may claim from the lane now. Never queries the database. */
  public boolean isPushedNow(int lane) {
    Lane known = lanes.byId.get(lane);
    if (known == null) {
      return false; // another node has just created it: known after the next refresh
    }
    TaskType type = type(known);
    return !known.route().isPulled(type.target()) && !isPaused(known, type);
  }

  /** Whether the lane's tasks are for engines, not for workers; true even while they are paused. */
  public boolean isPushed(int lane) {
    Lane known = lanes.byId.get(lane);
    return known != null && !known.route().isPulled(type(known).target());
  }

  /** Whether the lane's type discards its tasks. */
  public boolean isDiscardedNow(int lane) {
    return targetNow(lane) instanceof Target.Discard;
  }

  /** Whether engines deliver the lane's tasks over HTTP. */
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

  /** Whether consumers report the outcome of the lane's tasks, not the broker's confirm. */
  public boolean isReportedNow(int lane) {
    Lane known = lanes.byId.get(lane);
    return known != null && routeNow(known).kind() == Route.Kind.REPORT;
  }

  private Route routeNow(Lane lane) {
    return lane.route().given(type(lane).target());
  }

  /** The target of the type; null if the lane's tasks have their own. */
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

  private static final String MAY_CREATE_TYPE =
      """
      /* Catalog.mayCreateType */
      SELECT pg_try_advisory_xact_lock_shared(carillon.creation_lock(?, ?)) AS free
      """;

  private static final String MAY_CREATE_LANE =
      """
      /* Catalog.mayCreateLane */
      SELECT pg_try_advisory_xact_lock_shared(carillon.creation_lock(?, ?, ?, ?, ?)) AS free
      """;

  /**
   * Finds or creates a lane, in a transaction of its own, because that locks the catalog's row.
   * While a user's transaction is creating the same lane, which may take long, the next slice's
   * lane is used instead.
   *
   * @throws LimitReached if the lane is new and the tenant has reached its limit of types or lanes
   */
  public Lane laneFor(TenantId tenant, String type, int priority, int slice, Route route) {
    return laneFor(new LaneName(tenant.value(), type, priority, slice, route), true);
  }

  /**
   * Finds or creates a lane for a task of Carillon's own, such as a callback or a fire. Limits do
   * not apply: these lanes are few, and the schedule or type that needs them was accepted.
   */
  public Lane ownLaneFor(TenantId tenant, String type, int priority, int slice, Route route) {
    return laneFor(new LaneName(tenant.value(), type, priority, slice, route), false);
  }

  private Lane laneFor(LaneName name, boolean isLimited) {
    Lane known = usable(name);
    return known == null
        ? Objects.requireNonNull(create(List.of(name), isLimited).get(name))
        : known;
  }

  /** Null if the lane has to be created. */
  @Nullable Lane usable(LaneName name) {
    Lane lane = lanes.byName.get(name);
    if (lane != null && isKnownType(new TenantId(name.tenant()), name.type())) {
      return lane; // otherwise the type may have been deleted since
    }
    Lane known = lane == null ? lanes.byName.get(name.nextSlice()) : lane;
    return known != null && isBeingCreated(name, lane == null) ? known : null;
  }

  /** Finds or creates the lanes for a batch of tasks. */
  public BatchLanes lanesFor(TenantId tenant, int tasks) {
    return new BatchLanes(this, tenant, tasks);
  }

  TenantLimits.Used usage(TenantId tenant, TenantLimit limit) {
    return db.autoCommit(tx -> TenantLimits.usage(tx, tenant, limit));
  }

  Map<LaneName, Lane> create(List<LaneName> names, boolean isLimited) {
    TenantId tenant = new TenantId(names.getFirst().tenant());
    Created created =
        db.inTransaction(
            tx -> {
              int before = epoch;
              NewLanes.Created all = NewLanes.create(tx, tenant, names, isLimited);
              return new Created(before, version(tx), tenant, all);
            });
    add(created);
    return created.all().lanes();
  }

  /** Whether a user's transaction is creating the lane or its type; checked once a second. */
  private boolean isBeingCreated(LaneName name, boolean isNewLane) {
    Long until = beingCreated.get(name);
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
                        MAY_CREATE_LANE,
                        tenant,
                        name.type(),
                        name.priority(),
                        name.slice(),
                        name.route().text()));
    if (!isHeld && !isKnownType(tenant, name.type())) {
      isHeld = !db.autoCommit(tx -> isFree(tx, MAY_CREATE_TYPE, tenant, name.type()));
    }
    if (isHeld) {
      beingCreated.put(name, System.nanoTime() + BELIEVED_FOR.toNanos());
    } else {
      beingCreated.remove(name);
    }
    return isHeld;
  }

  /** Makes an uncommitted type visible to users' transactions that count types. */
  static void announceType(Tx tx, TenantId tenant, String type) {
    isFree(tx, MAY_CREATE_TYPE, tenant, type);
  }

  private static boolean isFree(Tx tx, String lock, Object... name) {
    return tx.query(lock, row -> row.getBoolean("free"), name).getFirst();
  }

  private record Created(int epoch, long version, TenantId tenant, NewLanes.Created all) {}

  /**
   * The snapshot's version stays, so that the next refresh still reads all other changes. A
   * snapshot that is at least as new as the created rows contains them, perhaps already changed.
   */
  private synchronized void add(Created created) {
    if (created.epoch() != epoch) {
      return;
    }
    if (snapshot.version() < created.version() && !created.all().types().isEmpty()) {
      snapshot = snapshot.with(created.tenant(), created.all().types());
    }
    created.all().lanes().values().forEach(lanes::add);
  }

  /** A tenant as it was written, before the commit. */
  record Written(Tenant tenant, int epoch, long version) {}

  Written written(Tx tx, Tenant tenant) {
    return new Written(tenant, epoch, version(tx));
  }

  /**
   * Adds a tenant that was created or changed here. Only this tenant: reading all types for each of
   * a thousand new tenants would be expensive. The next refresh reads all other changes.
   */
  void put(Written written) {
    if (!isPut(written)) {
      refresh();
    }
  }

  private synchronized boolean isPut(Written written) {
    if (written.epoch() != epoch || written.version() < newest) {
      return false; // it may have changed since
    }
    if (snapshot.version() < written.version()) {
      newest = written.version();
      snapshot = snapshot.with(written.tenant());
      workDue.raise();
      return true;
    }
    // Users' changes raise the version, too, so a snapshot may have this version without this
    // tenant.
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

  /** A secret that only the nodes of this installation know. */
  public byte[] secret() {
    return db.inTransaction(tx -> tx.query(SECRET, row -> row.getBytes("secret")).getFirst());
  }

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

  /** Reads tenants, types and new lanes if the catalog has changed. */
  public void refresh() {
    if (db.autoCommit(Catalog::version) > snapshot.version()) {
      boolean isRead = false;
      for (int tries = 0; !isRead && tries < MAX_TRIES; tries++) {
        isRead = db.inTransaction(this::readOnce); // false if a tenant was added meanwhile
      }
    }
  }

  private boolean readOnce(Tx tx) {
    // Both first: a change during the rest then only causes one more read.
    int before = epoch;
    long version = version(tx);
    return version <= snapshot.version()
        || publish(before, CatalogSnapshot.read(tx, version), unknownLanes(tx));
  }

  /** The lanes with the highest ids, or all if others are missing: ids may commit out of order. */
  private List<Lane> unknownLanes(Tx tx) {
    Set<Integer> known = new HashSet<>(lanes.byId.keySet());
    int last = known.stream().mapToInt(Integer::intValue).max().orElse(0);
    List<Lane> more = tx.query(LANES_AFTER, CatalogRows::lane, last);
    more.forEach(lane -> known.add(lane.id()));
    int count = tx.query(LANE_COUNT, row -> row.getInt("lanes")).getFirst();
    return known.size() == count ? more : tx.query(LANES, CatalogRows::lane);
  }

  /**
   * Called when the database was replaced by another timeline, in which a lane's id may be another
   * lane's and a version may have other contents. The tenants and types are good enough until the
   * next refresh; the lanes are not, nor is the result of a concurrent read.
   */
  @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock only
  public synchronized void forget() {
    epoch++;
    newest = 0;
    snapshot = snapshot.outdated();
    lanes.byId.clear();
    lanes.byName.clear();
    beingCreated.clear();
  }

  private static long version(Tx tx) {
    return tx.query(VERSION, row -> row.getLong("version")).getFirst();
  }

  /**
   * Publishes a snapshot, unless a concurrent read has published a newer one. False if it has to be
   * read again.
   */
  private synchronized boolean publish(int before, CatalogSnapshot read, List<Lane> known) {
    if (before == epoch && read.version() < newest) {
      return false;
    }
    if (before == epoch && read.version() > snapshot.version()) {
      snapshot = read; // before its lanes: a lane must not be visible without its type
      known.forEach(lanes::add);
      workDue.raise();
    }
    return true;
  }
}
