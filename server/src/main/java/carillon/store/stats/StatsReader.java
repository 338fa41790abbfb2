package carillon.store.stats;

import carillon.model.Partition;
import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.model.task.Lane;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.catalog.TenantLimits;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Counts of tasks of several tenants at once. No query counts all rows: due and running tasks are
 * counted up to a limit, everything else was counted before.
 */
public final class StatsReader {

  /** Due tasks counted in one lane. */
  static final int MAX_DUE_PER_LANE = 10_000;

  /** Due tasks counted in all lanes, but at least {@link #MIN_DUE_PER_LANE} in each. */
  private static final int MAX_DUE = 100_000;

  private static final int MIN_DUE_PER_LANE = 100;

  /** Running tasks counted for one tenant in one partition. */
  static final int MAX_RUNNING = 10_000;

  private final Db db;
  private final Catalog catalog;
  private final DuePartitions partitions;
  private final DbClock clock;
  private final TenantLimits limits;

  public StatsReader(Db db, Catalog catalog, Partitions partitions, DbClock clock) {
    this.db = db;
    this.catalog = catalog;
    this.partitions = new DuePartitions(db, partitions);
    this.clock = clock;
    this.limits = new TenantLimits(db);
  }

  /**
   * Due tasks.
   *
   * @param atLeast whether counting stopped before the last
   */
  public record Due(long tasks, boolean atLeast, @Nullable Instant oldest) {

    public static final Due NONE = new Due(0, false, null);

    public Due and(Due other) {
      boolean isOlder = oldest == null || (other.oldest != null && other.oldest.isBefore(oldest));
      return new Due(
          tasks + other.tasks, atLeast || other.atLeast, isOlder ? other.oldest : oldest);
    }
  }

  /** A number for each type that has any. */
  public record PerType<T>(Map<String, T> types, boolean atLeast) {
    public PerType {
      types = Map.copyOf(types);
    }
  }

  public Instant now() {
    return clock.instant();
  }

  /** Each tenant's usage of its limits. */
  public Map<TenantId, Map<TenantLimit, TenantLimits.Used>> usage(Set<TenantId> tenants) {
    return limits.usage(tenants);
  }

  public boolean isKnownType(TenantId tenant, String name) {
    return catalog.isKnownType(tenant, name);
  }

  /** The paused types of a tenant. */
  public Set<String> pausedTypes(TenantId tenant) {
    return catalog.pausedTypes(tenant);
  }

  private static final String COUNT_DUE =
      """
      /* StatsReader.countDue */
      SELECT l.lane, t.tasks, t.oldest
      FROM unnest(?::int[]) AS l (lane)
      CROSS JOIN LATERAL (
          SELECT count(*) AS tasks, min(d.ready_at) AS oldest
          FROM (
              SELECT q.ready_at
              FROM carillon.queue_{partition} q
              WHERE q.lane = l.lane
                AND q.ready_at <= (SELECT clock_timestamp())
              ORDER BY q.ready_at
              LIMIT ?
          ) d
      ) t
      WHERE t.tasks > 0
      """;

  /**
   * Counts due tasks in the queue's index: in the partitions of today and yesterday, and in others
   * where the last census found tasks.
   */
  public Map<TenantId, PerType<Due>> due(Set<TenantId> tenants) {
    List<Integer> lanes = lanes(tenants);
    int perLane = Math.max(MIN_DUE_PER_LANE, MAX_DUE / Math.max(1, lanes.size()));
    int limit = Math.min(MAX_DUE_PER_LANE, perLane);
    Map<TenantId, Map<String, Due>> due = forEach(tenants);
    DuePartitions.Scans scans = partitions.of(lanes, now());
    scans.lanes().forEach((partition, some) -> countDue(partition, some, limit, due));
    return perType(due, !scans.isAll());
  }

  private void countDue(
      Partition partition, List<Integer> lanes, int limit, Map<TenantId, Map<String, Due>> due) {
    Tx.Row<Map.Entry<Integer, Due>> ofLane =
        row -> {
          long tasks = row.getLong("tasks");
          Due some = new Due(tasks, tasks >= limit, Sql.instant(row, "oldest"));
          return Map.entry(row.getInt("lane"), some);
        };
    String sql = Sql.forPartition(COUNT_DUE, partition);
    Column all = Column.ints(lanes, lane -> lane);
    for (Map.Entry<Integer, Due> one :
        Partitions.unlessDropped(() -> db.autoCommit(tx -> tx.query(sql, ofLane, all, limit)))) {
      Lane lane = catalog.lane(one.getKey());
      of(due, lane.tenant()).merge(lane.type(), one.getValue(), Due::and);
    }
  }

  private static final String CLAIMED_PARTITIONS =
      """
      /* StatsReader.claimedPartitions */
      SELECT DISTINCT partition
      FROM carillon.claim
      """;

  // No index has the running tasks; open claims list them, and some that have ended since: the row
  // of such a task has at least the fence of the claim.
  private static final String COUNT_RUNNING =
      """
      /* StatsReader.countRunning */
      WITH held AS MATERIALIZED (
          SELECT h.tenant, h.id, h.fence
          FROM (
              SELECT h.tenant, h.id, h.fence, row_number() OVER (PARTITION BY h.tenant) AS n
              FROM carillon.claim c
              CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
              WHERE c.partition = ?
                AND h.tenant = ANY (?)
          ) h
          WHERE h.n <= ?
      )
      SELECT held.tenant, t.lane, count(*) AS tasks
      FROM held
      CROSS JOIN LATERAL (
          SELECT t.lane
          FROM carillon.task_{partition} t
          WHERE t.tenant = held.tenant
            AND t.id = held.id
            AND t.state = 'PENDING'
            AND t.fence = held.fence - 1
      ) t
      GROUP BY held.tenant, t.lane
      UNION ALL
      SELECT tenant, NULL, count(*) -- read from the claims, running or not
      FROM held
      GROUP BY tenant
      """;

  /** Counts running tasks, through the open claims. */
  public Map<TenantId, PerType<Long>> running(Set<TenantId> tenants) {
    List<Partition> claimed =
        db.autoCommit(
            tx ->
                tx.query(
                    CLAIMED_PARTITIONS,
                    row -> new Partition(row.getObject("partition", LocalDate.class))));
    Map<TenantId, Map<String, Long>> running = forEach(tenants);
    Set<TenantId> withMore = new HashSet<>();
    for (Partition partition : claimed) {
      for (Run some : countRunning(partition, tenants)) {
        if (some.lane() != null) {
          String type = catalog.lane(some.lane()).type();
          of(running, some.tenant()).merge(type, some.tasks(), Long::sum);
        } else if (some.tasks() >= MAX_RUNNING) {
          withMore.add(some.tenant());
        }
      }
    }
    return perType(running, withMore::contains);
  }

  /** Running tasks of a lane; without a lane, the tasks that were read to count them. */
  private record Run(TenantId tenant, @Nullable Integer lane, long tasks) {}

  private List<Run> countRunning(Partition partition, Set<TenantId> tenants) {
    Tx.Row<Run> run =
        row ->
            new Run(
                new TenantId(row.getInt("tenant")), Sql.integer(row, "lane"), row.getLong("tasks"));
    String sql = Sql.forPartition(COUNT_RUNNING, partition);
    Column all = Column.ints(tenants, TenantId::value);
    return Partitions.unlessDropped(
        () -> db.autoCommit(tx -> tx.query(sql, run, partition, all, MAX_RUNNING)));
  }

  private static final String COUNT_DEAD =
      """
      /* StatsReader.countDead */
      SELECT n.tenant, g.type, sum(g.letters)::bigint AS tasks
      FROM unnest(?::int[]) AS n (tenant)
      CROSS JOIN LATERAL (
          SELECT g.type, g.letters
          FROM carillon.dead_letter_group g
          WHERE g.tenant = n.tenant
            AND g.letters > 0
      ) g
      GROUP BY n.tenant, g.type
      """;

  /** Counts dead tasks, from the groups of dead letters. */
  public Map<TenantId, PerType<Long>> dead(Set<TenantId> tenants) {
    Map<TenantId, Map<String, Long>> dead = forEach(tenants);
    db.autoCommit(
        tx ->
            tx.query(
                COUNT_DEAD,
                row ->
                    of(dead, new TenantId(row.getInt("tenant")))
                        .put(row.getString("type"), row.getLong("tasks")),
                Column.ints(tenants, TenantId::value)));
    return perType(dead, false);
  }

  private static final String WAITING =
      """
      /* StatsReader.waiting */
      SELECT lane, sum(tasks)::bigint AS tasks
      FROM carillon.waiting
      WHERE lane = ANY (?)
      GROUP BY lane
      """;

  /** Counts waiting tasks, as of the last census. */
  public Map<TenantId, PerType<Long>> waiting(Set<TenantId> tenants) {
    Map<TenantId, Map<String, Long>> waiting = forEach(tenants);
    db.autoCommit(
        tx ->
            tx.query(
                WAITING,
                row -> {
                  Lane lane = catalog.lane(row.getInt("lane"));
                  return of(waiting, lane.tenant())
                      .merge(lane.type(), row.getLong("tasks"), Long::sum);
                },
                Column.ints(lanes(tenants), lane -> lane)));
    return perType(waiting, false);
  }

  private static final String COUNTED_AT =
      """
      /* StatsReader.countedAt */
      SELECT begun_at
      FROM carillon.census
      WHERE begun_at IS NOT NULL
      """;

  /** Every change before this time is in {@link #waiting}; null before the first census. */
  public @Nullable Instant waitingCountedAt() {
    return db.autoCommit(tx -> tx.queryOne(COUNTED_AT, row -> Sql.requiredInstant(row, "begun_at")))
        .orElse(null);
  }

  private List<Integer> lanes(Set<TenantId> tenants) {
    List<Integer> lanes = new ArrayList<>();
    for (Lane lane : catalog.lanes()) {
      if (tenants.contains(lane.tenant())) {
        lanes.add(lane.id());
      }
    }
    return lanes;
  }

  /** The types of a tenant that have or had tasks. */
  public Set<String> types(TenantId tenant) {
    Set<String> types = new HashSet<>();
    for (Lane lane : catalog.lanes()) {
      if (lane.tenant().equals(tenant)) {
        types.add(lane.type());
      }
    }
    return types;
  }

  public int laneCount() {
    return catalog.lanes().size();
  }

  private static <T> Map<TenantId, Map<String, T>> forEach(Collection<TenantId> tenants) {
    Map<TenantId, Map<String, T>> maps = new HashMap<>();
    tenants.forEach(tenant -> maps.put(tenant, new HashMap<>()));
    return maps;
  }

  private static <T> Map<String, T> of(Map<TenantId, Map<String, T>> maps, TenantId tenant) {
    return maps.computeIfAbsent(tenant, _ -> new HashMap<>());
  }

  private static <T> Map<TenantId, PerType<T>> perType(
      Map<TenantId, Map<String, T>> maps, boolean atLeast) {
    return perType(maps, _ -> atLeast);
  }

  private static <T> Map<TenantId, PerType<T>> perType(
      Map<TenantId, Map<String, T>> maps, Predicate<TenantId> atLeast) {
    Map<TenantId, PerType<T>> all = new HashMap<>();
    maps.forEach((tenant, types) -> all.put(tenant, new PerType<>(types, atLeast.test(tenant))));
    return all;
  }
}
