package carillon.api.live;

import carillon.api.http.DatabaseGate;
import carillon.api.http.OneAtATime;
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
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What is going on, looked at once for all who ask within two seconds: one look serves every
 * request and every stream of this node.
 */
public final class Stats {

  /** So long what was seen last is told to who cannot look now. */
  private static final Duration KEPT = Paced.LONG;

  /** Of what is so now, however dear it is to look. */
  private static final Duration STALEST_OF_NOW = Duration.ofSeconds(10);

  /** Of what is added up over an hour: of that, a minute is little. */
  private static final Duration STALEST_OF_AN_HOUR = Duration.ofMinutes(1);

  /** Tenants that are looked at in one turn: others need not wait for all. */
  private static final int SLICE = 200;

  private final StatsReader reader;
  private final ActivityReader activity;
  private final DatabaseGate database;
  private final LongSupplier nanoTime;
  private final OneAtATime turns;

  // All only by whose turn it is.
  private final Paced<TenantId, PerType<Due>> due;
  private final Paced<TenantId, PerType<Long>> running;
  private final Paced<TenantId, PerType<Long>> dead;
  private final Paced<TenantId, Waiting> waiting;
  private final Paced<Of, Lately> lately;
  private final Paced<TenantId, Map<String, Since>> hours;
  private final Paced<TenantId, Since> tenantHours;
  private final Paced<TenantId, Map<TenantLimit, Used>> usage;

  private final Map<Viewer, Seen> seen = new ConcurrentHashMap<>();
  private final Map<TenantId, OfTenant> seenBeside = new ConcurrentHashMap<>();

  public Stats(
      StatsReader reader, ActivityReader activity, DatabaseGate database, LongSupplier nanoTime) {
    this.reader = reader;
    this.activity = activity;
    this.database = database;
    this.nanoTime = nanoTime;
    this.turns = new OneAtATime(database);
    this.due = paced(reader::due, Stats::atLeast, STALEST_OF_NOW);
    this.running = paced(reader::running, Stats::atLeast, STALEST_OF_NOW);
    this.dead = paced(reader::dead, Stats::atLeast, STALEST_OF_NOW);
    this.waiting = paced(this::lookWaiting, Stats::waitingAtLeast, STALEST_OF_NOW);
    this.lately =
        paced(
            all -> activity.lately(all, reader.now()),
            last -> last.orElseGet(() -> Lately.none(reader.now())),
            STALEST_OF_NOW);
    this.hours = paced(this::lookHours, last -> last.orElse(Map.of()), STALEST_OF_AN_HOUR);
    this.tenantHours =
        paced(this::lookTenantHours, last -> last.orElseGet(this::nothing), STALEST_OF_AN_HOUR);
    this.usage = paced(reader::usage, last -> last.orElse(Map.of()), STALEST_OF_NOW);
  }

  private <K, T> Paced<K, T> paced(
      Function<Set<K>, Map<K, T>> look, Function<Optional<T>, T> otherwise, Duration stalest) {
    return new Paced<>(look, otherwise, stalest, reader::now, nanoTime);
  }

  private static <T> PerType<T> atLeast(Optional<PerType<T>> last) {
    return new PerType<>(last.map(PerType::types).orElse(Map.of()), true);
  }

  private static Waiting waitingAtLeast(Optional<Waiting> last) {
    return last.orElse(new Waiting(new PerType<>(Map.of(), true), null));
  }

  private Since nothing() {
    return Lately.none(reader.now()).hour();
  }

  /** What waits, and whatever had changed by when is in it. */
  record Waiting(PerType<Long> tasks, @Nullable Instant countedAt) {}

  /** When each part was seen. What waits says so itself. */
  record SeenAt(Instant due, Instant running, Instant dead, Instant last, Instant hours) {

    Instant first() {
      return Stats.first(firstOfNow(), last, hours);
    }

    /** Of what is so now. */
    Instant firstOfNow() {
      return Stats.first(due, running, dead);
    }

    /** Together with other sums of what happened lately. */
    SeenAt andLast(Instant other) {
      return new SeenAt(due, running, dead, Stats.first(last, other), hours);
    }
  }

  /**
   * All that is known of a tenant.
   *
   * @param hours of each type in which anything happened
   * @param usage of what is limited; empty for who sees only some types
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

  /** By {@link #nanoTime}. */
  private record Seen(long at, Overview overview, String json) {}

  /** The answer of {@code GET /v1/stats} for each of whom anything can be said now. */
  public Map<Viewer, String> json(Set<Viewer> viewers) {
    Map<Viewer, String> json = new HashMap<>();
    see(viewers).forEach((viewer, one) -> json.put(viewer, one.json()));
    return json;
  }

  public String json(Viewer viewer) {
    return one(viewer).json();
  }

  Overview overview(TenantId tenant) {
    return one(Viewer.ofAll(tenant)).overview();
  }

  private Seen one(Viewer viewer) {
    return Objects.requireNonNull(see(Set.of(viewer)).get(viewer));
  }

  private Map<Viewer, Seen> see(Set<Viewer> viewers) {
    Map<Viewer, Seen> fresh = seen(viewers, Paced.FRESH);
    return fresh.size() == viewers.size()
        ? fresh
        : turns.look(() -> look(viewers), () -> last(viewers));
  }

  private Optional<Map<Viewer, Seen>> last(Set<Viewer> viewers) {
    return Optional.of(seen(viewers, KEPT)).filter(some -> !some.isEmpty());
  }

  private Map<Viewer, Seen> seen(Set<Viewer> viewers, Duration ago) {
    long now = nanoTime.getAsLong();
    Map<Viewer, Seen> found = new HashMap<>();
    for (Viewer viewer : viewers) {
      Seen known = seen.get(viewer);
      if (known != null && now - known.at() < ago.toNanos()) {
        found.put(viewer, known);
      }
    }
    return found;
  }

  private Map<Viewer, Seen> look(Set<Viewer> viewers) {
    Map<Viewer, Seen> all = seen(viewers, Paced.FRESH); // somebody may have looked while we waited
    Set<Viewer> stale = new HashSet<>(viewers);
    stale.removeAll(all.keySet());
    if (stale.isEmpty()) {
      return all;
    }
    Set<Viewer> whole = new HashSet<>();
    stale.forEach(viewer -> whole.add(Viewer.ofAll(viewer.tenant())));
    Set<TenantId> tenants = new HashSet<>();
    Map<Viewer, Seen> known = seen(whole, Paced.FRESH);
    whole.forEach(viewer -> tenants.add(viewer.tenant()));
    known.keySet().forEach(viewer -> tenants.remove(viewer.tenant()));
    if (!tenants.isEmpty()) {
      known.putAll(lookAt(tenants));
    }
    Set<Of> types = new HashSet<>();
    stale.forEach(viewer -> types.addAll(types(viewer)));
    Map<Of, Lately> latelyOf = lately.of(types); // of all who are limited together
    for (Viewer viewer : stale) {
      Seen one = Objects.requireNonNull(known.get(Viewer.ofAll(viewer.tenant())));
      if (viewer.isLimited()) {
        Overview some = only(viewer, one.overview(), latelyOf);
        one = new Seen(one.at(), some, StatsJson.of(some));
        seen.put(viewer, one);
      }
      all.put(viewer, one);
    }
    return all;
  }

  private static List<Of> types(Viewer viewer) {
    return viewer.types().stream().distinct().map(type -> Of.type(viewer.tenant(), type)).toList();
  }

  private Map<Viewer, Seen> lookAt(Set<TenantId> tenants) {
    Set<Of> whole = new HashSet<>();
    tenants.forEach(tenant -> whole.add(Of.tenant(tenant)));
    // The dearest by far where there are many types, and whoever is first waits for everything. It
    // goes by the permit of this look: to ask for another while holding one could be in vain.
    try (var hoursBeside = new BackgroundLoad<>(() -> hours.of(tenants))) {
      return seenNow(
          tenants,
          new Parts(
              due.of(tenants),
              running.of(tenants),
              dead.of(tenants),
              waiting.of(tenants),
              lately.of(whole),
              hoursBeside.get(),
              usage.of(tenants)));
    }
  }

  /** What was read of each of several tenants. */
  private record Parts(
      Map<TenantId, PerType<Due>> due,
      Map<TenantId, PerType<Long>> running,
      Map<TenantId, PerType<Long>> dead,
      Map<TenantId, Waiting> waiting,
      Map<Of, Lately> lately,
      Map<TenantId, Map<String, Since>> hours,
      Map<TenantId, Map<TenantLimit, Used>> usage) {}

  private Map<Viewer, Seen> seenNow(Set<TenantId> tenants, Parts parts) {
    long now = nanoTime.getAsLong();
    seen.values().removeIf(each -> now - each.at() > KEPT.toNanos());
    Map<Viewer, Seen> all = new HashMap<>();
    for (TenantId tenant : tenants) {
      Overview overview =
          new Overview(
              new SeenAt(
                  due.at(tenant),
                  running.at(tenant),
                  dead.at(tenant),
                  lately.at(Of.tenant(tenant)),
                  hours.at(tenant)),
              Objects.requireNonNull(parts.due().get(tenant)),
              Objects.requireNonNull(parts.running().get(tenant)),
              Objects.requireNonNull(parts.dead().get(tenant)),
              Objects.requireNonNull(parts.waiting().get(tenant)),
              Objects.requireNonNull(parts.lately().get(Of.tenant(tenant))),
              Objects.requireNonNull(parts.hours().get(tenant)),
              reader.pausedTypes(tenant),
              Objects.requireNonNull(parts.usage().get(tenant)));
      Seen one = new Seen(now, overview, StatsJson.of(overview));
      seen.put(Viewer.ofAll(tenant), one);
      all.put(Viewer.ofAll(tenant), one);
    }
    return all;
  }

  private static Instant first(Instant... times) {
    return Collections.min(Arrays.asList(times));
  }

  private Map<TenantId, Waiting> lookWaiting(Set<TenantId> tenants) {
    Instant countedAt = reader.waitingCountedAt();
    Map<TenantId, Waiting> all = new HashMap<>();
    reader.waiting(tenants).forEach((tenant, n) -> all.put(tenant, new Waiting(n, countedAt)));
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

  /** What is left of it for who may see some types only. */
  private Overview only(Viewer viewer, Overview all, Map<Of, Lately> latelyOf) {
    List<String> types = viewer.types();
    Set<String> paused = new HashSet<>(all.paused());
    paused.retainAll(types);
    SeenAt seenAt = all.seenAt();
    List<Lately> each = new ArrayList<>();
    for (Of of : types(viewer)) {
      seenAt = seenAt.andLast(lately.at(of));
      each.add(Objects.requireNonNull(latelyOf.get(of)));
    }
    return new Overview(
        seenAt,
        only(all.due(), types),
        only(all.running(), types),
        only(all.dead(), types),
        new Waiting(only(all.waiting().tasks(), types), all.waiting().countedAt()),
        each.stream().reduce(Lately::and).orElseThrow(),
        only(all.hours(), types),
        paused,
        Map.of());
  }

  private static <T> PerType<T> only(PerType<T> all, List<String> types) {
    return new PerType<>(only(all.types(), types), all.atLeast());
  }

  private static <T> Map<String, T> only(Map<String, T> all, List<String> types) {
    Map<String, T> some = new HashMap<>(all);
    some.keySet().retainAll(types);
    return some;
  }

  Lately lately(Of of) {
    return Objects.requireNonNull(
        database.use(() -> activity.lately(List.of(of), reader.now())).get(of));
  }

  /** A tenant beside the others; nothing of it, but what waits, was seen earlier than then. */
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

  /** Of all tenants that there are; what is told of types is left out. */
  Map<TenantId, OfTenant> tenants(Set<TenantId> tenants) {
    List<TenantId> order =
        tenants.stream().sorted(Comparator.comparingInt(TenantId::value)).toList();
    Map<TenantId, OfTenant> all = new HashMap<>();
    for (int from = 0; from < order.size(); from += SLICE) {
      Set<TenantId> slice = Set.copyOf(order.subList(from, Math.min(from + SLICE, order.size())));
      all.putAll(turns.look(() -> lookBeside(slice), () -> lastBeside(slice)));
    }
    seenBeside.keySet().retainAll(tenants);
    return all;
  }

  private Map<TenantId, OfTenant> lookBeside(Set<TenantId> tenants) {
    Map<TenantId, PerType<Due>> dueNow = due.of(tenants);
    Map<TenantId, PerType<Long>> runningNow = running.of(tenants);
    Map<TenantId, PerType<Long>> deadNow = dead.of(tenants);
    Map<TenantId, Waiting> waitingNow = waiting.of(tenants);
    Map<TenantId, Since> hoursNow = tenantHours.of(tenants);
    Map<TenantId, Map<TenantLimit, Used>> usageNow = usage.of(tenants);
    Map<TenantId, OfTenant> all = new HashMap<>();
    for (TenantId tenant : tenants) {
      all.put(
          tenant,
          new OfTenant(
              first(due.at(tenant), running.at(tenant), dead.at(tenant), tenantHours.at(tenant)),
              sum(Objects.requireNonNull(waitingNow.get(tenant)).tasks()),
              sum(Objects.requireNonNull(runningNow.get(tenant))),
              sum(Objects.requireNonNull(deadNow.get(tenant))),
              all(Objects.requireNonNull(dueNow.get(tenant))),
              Objects.requireNonNull(hoursNow.get(tenant)),
              Objects.requireNonNull(usageNow.get(tenant))));
    }
    seenBeside.putAll(all);
    return all;
  }

  private Optional<Map<TenantId, OfTenant>> lastBeside(Set<TenantId> tenants) {
    Map<TenantId, OfTenant> known = new HashMap<>(seenBeside);
    known.keySet().retainAll(tenants);
    return Optional.of(known).filter(all -> all.size() == tenants.size());
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
