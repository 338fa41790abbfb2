package carillon.api.live;

import carillon.api.http.DatabaseGate;
import carillon.api.http.SharedQuery;
import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.store.catalog.TenantLimits.Used;
import carillon.store.stats.ActivityReader;
import carillon.store.stats.ActivityReader.Lately;
import carillon.store.stats.ActivityReader.Of;
import carillon.store.stats.ActivityReader.Since;
import carillon.store.stats.StatsReader;
import carillon.store.stats.StatsReader.Due;
import carillon.store.stats.StatsReader.PerType;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The statistics of tenants, read from the database once for all requests and event streams of this
 * node. One thread reads at a time; a caller that would wait longer than a second for it gets the
 * values read last.
 */
public final class Stats {

  /** With more lanes than this, the installation is large. */
  private static final int LARGE = 200;

  /** In a large installation, for counts of tasks. */
  private static final Duration COUNTS_INTERVAL = Duration.ofSeconds(10);

  /** In a large installation, for the last hour of each type or tenant. */
  private static final Duration HOURS_INTERVAL = Duration.ofMinutes(1);

  /** Tenants read in one turn, so that other callers need not wait for all of them. */
  private static final int TENANTS_PER_TURN = 200;

  private final StatsReader reader;
  private final ActivityReader activityReader;
  private final DatabaseGate database;
  private final LongSupplier nanoTime;
  private final Semaphore turn = new Semaphore(1, true);

  private final SharedQuery<TenantId, PerType<Due>> due;
  private final SharedQuery<TenantId, PerType<Long>> running;
  private final SharedQuery<TenantId, PerType<Long>> dead;
  private final SharedQuery<TenantId, Waiting> waiting;
  private final SharedQuery<TenantId, Map<TenantLimit, Used>> usage;
  private final SharedQuery<TenantId, Map<String, Since>> typeHours;
  private final SharedQuery<TenantId, Since> tenantHours;
  private final SharedQuery<Of, Lately> activity;

  public Stats(
      StatsReader reader,
      ActivityReader activityReader,
      DatabaseGate database,
      LongSupplier nanoTime) {
    this.reader = reader;
    this.activityReader = activityReader;
    this.database = database;
    this.nanoTime = nanoTime;
    Supplier<Duration> counts = () -> isLarge() ? COUNTS_INTERVAL : SharedQuery.SHORTEST_INTERVAL;
    Supplier<Duration> hours = () -> isLarge() ? HOURS_INTERVAL : SharedQuery.SHORTEST_INTERVAL;
    this.due = shared(reader::due, Stats::atLeast, counts);
    this.running = shared(reader::running, Stats::atLeast, counts);
    this.dead = shared(reader::dead, Stats::atLeast, counts);
    this.waiting = shared(this::readWaiting, Stats::waitingAtLeast, counts);
    this.usage = shared(reader::usage, last -> last.orElse(Map.of()), counts);
    this.typeHours = shared(this::readTypeHours, last -> last.orElse(Map.of()), hours);
    this.tenantHours =
        shared(
            this::readTenantHours,
            last -> last.orElseGet(() -> Lately.none(reader.now()).hour()),
            hours);
    this.activity =
        shared(
            all -> activityReader.lately(all, reader.now()),
            last -> last.orElseGet(() -> Lately.none(reader.now())),
            () -> SharedQuery.SHORTEST_INTERVAL);
  }

  private <K, V> SharedQuery<K, V> shared(
      Function<Set<K>, Map<K, V>> query,
      Function<Optional<V>, V> onTimeout,
      Supplier<Duration> interval) {
    return new SharedQuery<>(query, onTimeout, interval, reader::now, nanoTime);
  }

  private boolean isLarge() {
    return reader.laneCount() > LARGE;
  }

  private static <T> PerType<T> atLeast(Optional<PerType<T>> last) {
    return new PerType<>(last.map(PerType::types).orElse(Map.of()), true);
  }

  private static Waiting waitingAtLeast(Optional<Waiting> last) {
    return last.orElse(new Waiting(new PerType<>(Map.of(), true), null));
  }

  /**
   * Tasks that wait.
   *
   * @param countedAt every change before this time is included; null before the first census
   */
  record Waiting(PerType<Long> tasks, @Nullable Instant countedAt) {}

  /** When each part was read; {@link Waiting} has a time of its own. */
  record SeenAt(Instant due, Instant running, Instant dead, Instant last, Instant hours) {

    Instant first() {
      return Stats.first(firstOfCounts(), last, hours);
    }

    Instant firstOfCounts() {
      return Stats.first(due, running, dead);
    }
  }

  /**
   * The statistics of one tenant, or of some of its types.
   *
   * @param hours the last hour of each type in which anything happened
   * @param usage empty for a viewer that is limited to types
   */
  record Overview(
      SeenAt seenAt,
      PerType<Due> due,
      PerType<Long> running,
      PerType<Long> dead,
      Waiting waiting,
      Lately lately,
      Map<String, Since> hours,
      Set<String> paused,
      Map<TenantLimit, Used> usage) {
    Overview {
      hours = Map.copyOf(hours);
      paused = Set.copyOf(paused);
      usage = Map.copyOf(usage);
    }
  }

  /**
   * The response of {@code GET /v1/stats} for each viewer. Viewers of which nothing could be read
   * are left out.
   */
  public Map<Viewer, String> json(Set<Viewer> viewers) {
    refresh(viewers);
    Map<Viewer, String> json = new HashMap<>();
    for (Viewer viewer : viewers) {
      if (isKnown(viewer)) {
        json.put(viewer, StatsJson.of(compose(viewer)));
      }
    }
    return json;
  }

  public String json(Viewer viewer) {
    refresh(Set.of(viewer));
    return StatsJson.of(compose(viewer));
  }

  Overview overview(TenantId tenant) {
    Viewer viewer = Viewer.ofAll(tenant);
    refresh(Set.of(viewer));
    return compose(viewer);
  }

  /** What happened lately to the tasks of a type, a tenant or all tenants. */
  Lately lately(Of of) {
    refresh(Set.of(), Set.of(of));
    return last(activity, of).value();
  }

  private void refresh(Set<Viewer> viewers) {
    Set<TenantId> tenants = new HashSet<>();
    Set<Of> activities = new HashSet<>();
    for (Viewer viewer : viewers) {
      tenants.add(viewer.tenant());
      activities.addAll(activities(viewer));
    }
    refresh(tenants, activities);
  }

  private static List<Of> activities(Viewer viewer) {
    TenantId tenant = viewer.tenant();
    return viewer.isLimited()
        ? viewer.types().stream().distinct().map(type -> Of.type(tenant, type)).toList()
        : List.of(Of.tenant(tenant));
  }

  private List<SharedQuery<TenantId, ?>> counts() {
    return List.of(due, running, dead, waiting, usage);
  }

  private void refresh(Set<TenantId> tenants, Set<Of> activities) {
    if (isFresh(tenants, typeHours) && activity.isFresh(activities)) {
      return;
    }
    boolean _ =
        database.tryExclusively(
            turn,
            () -> {
              // By far the most expensive part where there are many types, so it is read at the
              // same time as the others. It uses the permit of this turn: waiting for a second one
              // while holding the first could be a deadlock.
              CompletableFuture<Void> hours =
                  CompletableFuture.runAsync(
                      () -> typeHours.refresh(tenants), Thread::startVirtualThread);
              try {
                counts().forEach(query -> query.refresh(tenants));
                activity.refresh(activities);
              } finally {
                hours.handle((_, _) -> null).join(); // it must not outlive this turn
              }
              join(hours);
            });
  }

  private boolean isFresh(Set<TenantId> tenants, SharedQuery<TenantId, ?> hours) {
    return hours.isFresh(tenants) && counts().stream().allMatch(query -> query.isFresh(tenants));
  }

  private static void join(CompletableFuture<Void> work) {
    try {
      work.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  private boolean isKnown(Viewer viewer) {
    return typeHours.last(viewer.tenant()).isPresent()
        && counts().stream().allMatch(query -> query.last(viewer.tenant()).isPresent())
        && activities(viewer).stream().allMatch(of -> activity.last(of).isPresent());
  }

  private static <K, V> SharedQuery.Result<V> last(SharedQuery<K, V> query, K key) {
    return query.last(key).orElseThrow(DatabaseGate::overloaded);
  }

  private Overview compose(Viewer viewer) {
    TenantId tenant = viewer.tenant();
    var dueTasks = last(due, tenant);
    var runningTasks = last(running, tenant);
    var deadTasks = last(dead, tenant);
    Waiting waitingTasks = last(waiting, tenant).value();
    var hours = last(typeHours, tenant);
    List<SharedQuery.Result<Lately>> lately =
        activities(viewer).stream().map(of -> last(activity, of)).toList();
    Set<String> paused = new HashSet<>(reader.pausedTypes(tenant));
    if (viewer.isLimited()) {
      paused.retainAll(viewer.types());
    }
    return new Overview(
        new SeenAt(
            dueTasks.readAt(),
            runningTasks.readAt(),
            deadTasks.readAt(),
            lately.stream().map(SharedQuery.Result::readAt).min(Instant::compareTo).orElseThrow(),
            hours.readAt()),
        viewer.only(dueTasks.value()),
        viewer.only(runningTasks.value()),
        viewer.only(deadTasks.value()),
        new Waiting(viewer.only(waitingTasks.tasks()), waitingTasks.countedAt()),
        lately.stream().map(SharedQuery.Result::value).reduce(Lately::and).orElseThrow(),
        viewer.only(hours.value()),
        paused,
        viewer.isLimited() ? Map.of() : last(usage, tenant).value());
  }

  private static Instant first(Instant... times) {
    return Collections.min(Arrays.asList(times));
  }

  private Map<TenantId, Waiting> readWaiting(Set<TenantId> tenants) {
    Instant countedAt = reader.waitingCountedAt();
    Map<TenantId, Waiting> all = new HashMap<>();
    reader.waiting(tenants).forEach((tenant, n) -> all.put(tenant, new Waiting(n, countedAt)));
    return all;
  }

  private Map<TenantId, Map<String, Since>> readTypeHours(Set<TenantId> tenants) {
    List<Of> types = new ArrayList<>();
    Map<TenantId, Map<String, Since>> all = new HashMap<>();
    for (TenantId tenant : tenants) {
      all.put(tenant, new HashMap<>());
      reader.types(tenant).forEach(type -> types.add(Of.type(tenant, type)));
    }
    activityReader
        .hours(types, reader.now())
        .forEach(
            (of, hour) -> {
              if (!hour.counts().isEmpty()) {
                Objects.requireNonNull(all.get(new TenantId(of.tenant()))).put(of.type(), hour);
              }
            });
    return all;
  }

  private Map<TenantId, Since> readTenantHours(Set<TenantId> tenants) {
    Map<TenantId, Since> all = new HashMap<>();
    activityReader
        .hours(tenants.stream().map(Of::tenant).toList(), reader.now())
        .forEach((of, hour) -> all.put(new TenantId(of.tenant()), hour));
    return all;
  }

  /** One row of the list of tenants. Nothing in it but {@code pending} is older than {@code at}. */
  record OfTenant(
      Instant at,
      long pending,
      long running,
      long dead,
      Due due,
      Since hour,
      Map<TenantLimit, Used> usage) {
    OfTenant {
      usage = Map.copyOf(usage);
    }
  }

  Map<TenantId, OfTenant> tenants(Collection<TenantId> tenants) {
    List<TenantId> order =
        tenants.stream().sorted(Comparator.comparingInt(TenantId::value)).toList();
    Map<TenantId, OfTenant> all = new HashMap<>();
    for (int from = 0; from < order.size(); from += TENANTS_PER_TURN) {
      Set<TenantId> some =
          Set.copyOf(order.subList(from, Math.min(from + TENANTS_PER_TURN, order.size())));
      if (!isFresh(some, tenantHours)) {
        boolean _ =
            database.tryExclusively(
                turn,
                () -> {
                  counts().forEach(query -> query.refresh(some));
                  tenantHours.refresh(some);
                });
      }
      some.forEach(tenant -> all.put(tenant, ofTenant(tenant)));
    }
    return all;
  }

  private OfTenant ofTenant(TenantId tenant) {
    var dueTasks = last(due, tenant);
    var runningTasks = last(running, tenant);
    var deadTasks = last(dead, tenant);
    var hour = last(tenantHours, tenant);
    return new OfTenant(
        first(dueTasks.readAt(), runningTasks.readAt(), deadTasks.readAt(), hour.readAt()),
        sum(last(waiting, tenant).value().tasks()),
        sum(runningTasks.value()),
        sum(deadTasks.value()),
        all(dueTasks.value()),
        hour.value(),
        last(usage, tenant).value());
  }

  static long sum(PerType<Long> numbers) {
    return numbers.types().values().stream().mapToLong(Long::longValue).sum();
  }

  static Due all(PerType<Due> due) {
    return due.types().values().stream()
        .reduce(Due::and)
        .orElse(Due.NONE)
        .and(new Due(0, due.atLeast(), null));
  }
}
