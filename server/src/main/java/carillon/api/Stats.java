package carillon.api;

import carillon.model.TenantId;
import carillon.store.ActivityReader;
import carillon.store.ActivityReader.Lately;
import carillon.store.ActivityReader.Of;
import carillon.store.ActivityReader.Since;
import carillon.store.StatsReader;
import carillon.store.StatsReader.Due;
import carillon.store.StatsReader.PerType;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is going on, looked at once for all who ask within two seconds: one look serves every
 * request and every stream of this node.
 */
final class Stats {

  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final StatsReader reader;
  private final ActivityReader activity;
  private final DatabaseGate database;
  private final LongSupplier nanoTime;

  /** Held by the one who looks. */
  private final ReentrantLock looking = new ReentrantLock();

  private final Paced<PerType<Due>> due;
  private final Paced<PerType<Long>> running;
  private final Paced<PerType<Long>> dead;
  private final Paced<Waiting> waiting;
  private final Paced<Lately> lately;
  private final Paced<Map<String, Since>> hours;
  private final Paced<Since> tenantHours;

  private final Map<TenantId, Seen> seen = new ConcurrentHashMap<>();

  Stats(StatsReader reader, ActivityReader activity, DatabaseGate database, LongSupplier nanoTime) {
    this.reader = reader;
    this.activity = activity;
    this.database = database;
    this.nanoTime = nanoTime;
    this.due = new Paced<>(reader::due, nanoTime);
    this.running = new Paced<>(reader::running, nanoTime);
    this.dead = new Paced<>(reader::dead, nanoTime);
    this.waiting = new Paced<>(this::lookWaiting, nanoTime);
    this.lately = new Paced<>(this::lookLately, nanoTime);
    this.hours = new Paced<>(this::lookHours, nanoTime);
    this.tenantHours = new Paced<>(this::lookTenantHours, nanoTime);
  }

  /** What waits, and whatever had changed by when is in it. */
  record Waiting(PerType<Long> tasks, @Nullable Instant countedAt) {}

  /**
   * All that is known of a tenant.
   *
   * @param hours of each type in which anything happened
   */
  record Overview(
      Instant at,
      PerType<Due> due,
      PerType<Long> running,
      PerType<Long> dead,
      Waiting waiting,
      Lately lately,
      Map<String, Since> hours,
      Set<String> paused) {
    Overview {
      hours = Map.copyOf(hours);
      paused = Set.copyOf(paused);
    }
  }

  private record Seen(long at, Overview overview, String json) {}

  /**
   * The answer of {@code GET /v1/stats} for each tenant, as a caller sees it who may see all types.
   */
  Map<TenantId, String> json(Set<TenantId> tenants) {
    Map<TenantId, String> json = new HashMap<>();
    see(tenants).forEach((tenant, one) -> json.put(tenant, one.json()));
    return json;
  }

  /**
   * The same for one tenant.
   *
   * @param types that the caller may see; empty means all
   */
  String json(TenantId tenant, List<String> types) {
    Seen one = one(tenant);
    return types.isEmpty() ? one.json() : StatsJson.of(only(tenant, one.overview(), types));
  }

  Overview overview(TenantId tenant) {
    return one(tenant).overview();
  }

  private Seen one(TenantId tenant) {
    return Objects.requireNonNull(see(Set.of(tenant)).get(tenant));
  }

  private Map<TenantId, Seen> see(Set<TenantId> tenants) {
    Map<TenantId, Seen> fresh = fresh(tenants);
    return fresh.size() == tenants.size() ? fresh : alone(() -> look(tenants));
  }

  private Map<TenantId, Seen> fresh(Set<TenantId> tenants) {
    long now = nanoTime.getAsLong();
    Map<TenantId, Seen> fresh = new HashMap<>();
    for (TenantId tenant : tenants) {
      Seen known = seen.get(tenant);
      if (known != null && now - known.at() < Paced.FRESH.toNanos()) {
        fresh.put(tenant, known);
      }
    }
    return fresh;
  }

  /** Others wait for whoever looks, and find what it saw; but not for a database that is gone. */
  private <T> T alone(Supplier<T> work) {
    try {
      if (!looking.tryLock(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
        throw DatabaseGate.overloaded();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw DatabaseGate.overloaded();
    }
    try {
      return database.use(work);
    } finally {
      looking.unlock();
    }
  }

  private Map<TenantId, Seen> look(Set<TenantId> tenants) {
    Map<TenantId, Seen> all = fresh(tenants); // somebody may have looked while we waited
    Set<TenantId> stale = new HashSet<>(tenants);
    stale.removeAll(all.keySet());
    if (stale.isEmpty()) {
      return all;
    }
    Instant at = reader.now();
    Map<TenantId, PerType<Due>> dueNow = due.of(stale);
    Map<TenantId, PerType<Long>> runningNow = running.of(stale);
    Map<TenantId, PerType<Long>> deadNow = dead.of(stale);
    Map<TenantId, Waiting> waitingNow = waiting.of(stale);
    Map<TenantId, Lately> latelyNow = lately.of(stale);
    Map<TenantId, Map<String, Since>> hoursNow = hours.of(stale);
    long now = nanoTime.getAsLong();
    seen.values().removeIf(each -> now - each.at() > Paced.FRESH.toNanos());
    for (TenantId tenant : stale) {
      Overview overview =
          new Overview(
              at,
              Objects.requireNonNull(dueNow.get(tenant)),
              Objects.requireNonNull(runningNow.get(tenant)),
              Objects.requireNonNull(deadNow.get(tenant)),
              Objects.requireNonNull(waitingNow.get(tenant)),
              Objects.requireNonNull(latelyNow.get(tenant)),
              Objects.requireNonNull(hoursNow.get(tenant)),
              reader.pausedTypes(tenant));
      Seen one = new Seen(now, overview, StatsJson.of(overview));
      seen.put(tenant, one);
      all.put(tenant, one);
    }
    return all;
  }

  private Map<TenantId, Waiting> lookWaiting(Set<TenantId> tenants) {
    Instant countedAt = reader.waitingCountedAt();
    Map<TenantId, Waiting> all = new HashMap<>();
    reader.waiting(tenants).forEach((tenant, n) -> all.put(tenant, new Waiting(n, countedAt)));
    return all;
  }

  private Map<TenantId, Lately> lookLately(Set<TenantId> tenants) {
    Map<Of, Lately> found =
        activity.lately(tenants.stream().map(Of::tenant).toList(), reader.now());
    Map<TenantId, Lately> all = new HashMap<>();
    found.forEach((of, numbers) -> all.put(new TenantId(of.tenant()), numbers));
    return all;
  }

  private Map<TenantId, Map<String, Since>> lookHours(Set<TenantId> tenants) {
    List<Of> types = new ArrayList<>();
    Map<TenantId, Map<String, Since>> all = new HashMap<>();
    for (TenantId tenant : tenants) {
      all.put(tenant, new HashMap<>());
      reader.types(tenant).forEach(type -> types.add(Of.type(tenant, type)));
    }
    activity
        .hours(types, reader.now())
        .forEach(
            (of, hour) -> {
              if (!hour.counts().isEmpty()) {
                Objects.requireNonNull(all.get(new TenantId(of.tenant()))).put(of.type(), hour);
              }
            });
    return all;
  }

  private Map<TenantId, Since> lookTenantHours(Set<TenantId> tenants) {
    Map<TenantId, Since> all = new HashMap<>();
    activity
        .hours(tenants.stream().map(Of::tenant).toList(), reader.now())
        .forEach((of, hour) -> all.put(new TenantId(of.tenant()), hour));
    return all;
  }

  /** What is left of it for who may see these types only. */
  private Overview only(TenantId tenant, Overview all, List<String> types) {
    Set<String> paused = new HashSet<>(all.paused());
    paused.retainAll(types);
    return new Overview(
        all.at(),
        only(all.due(), types),
        only(all.running(), types),
        only(all.dead(), types),
        new Waiting(only(all.waiting().tasks(), types), all.waiting().countedAt()),
        lately(tenant, types),
        only(all.hours(), types),
        paused);
  }

  private static <T> PerType<T> only(PerType<T> all, List<String> types) {
    return new PerType<>(only(all.types(), types), all.atLeast());
  }

  private static <T> Map<String, T> only(Map<String, T> all, List<String> types) {
    Map<String, T> some = new HashMap<>(all);
    some.keySet().retainAll(types);
    return some;
  }

  /** Of some types of a tenant together, at least one. */
  Lately lately(TenantId tenant, List<String> types) {
    List<Of> each = types.stream().distinct().map(type -> Of.type(tenant, type)).toList();
    return database.use(
        () ->
            activity.lately(each, reader.now()).values().stream()
                .reduce(Lately::and)
                .orElseThrow());
  }

  /** A tenant beside the others. */
  record OfTenant(long pending, long running, long dead, Due due, Since hour) {}

  /** Of all of these tenants; what is told of types is left out. */
  Map<TenantId, OfTenant> tenants(Set<TenantId> tenants) {
    return alone(
        () -> {
          Map<TenantId, PerType<Due>> dueNow = due.of(tenants);
          Map<TenantId, PerType<Long>> runningNow = running.of(tenants);
          Map<TenantId, PerType<Long>> deadNow = dead.of(tenants);
          Map<TenantId, Waiting> waitingNow = waiting.of(tenants);
          Map<TenantId, Since> hoursNow = tenantHours.of(tenants);
          Map<TenantId, OfTenant> all = new HashMap<>();
          for (TenantId tenant : tenants) {
            all.put(
                tenant,
                new OfTenant(
                    sum(Objects.requireNonNull(waitingNow.get(tenant)).tasks()),
                    sum(Objects.requireNonNull(runningNow.get(tenant))),
                    sum(Objects.requireNonNull(deadNow.get(tenant))),
                    all(Objects.requireNonNull(dueNow.get(tenant))),
                    Objects.requireNonNull(hoursNow.get(tenant))));
          }
          return all;
        });
  }

  /** Of the whole installation. */
  Lately everybody() {
    return Objects.requireNonNull(
        database.use(() -> activity.lately(List.of(Of.ALL), reader.now())).get(Of.ALL));
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
