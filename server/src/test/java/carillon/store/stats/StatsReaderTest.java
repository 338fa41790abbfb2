package carillon.store.stats;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.store.QueryPlans;
import carillon.store.catalog.Tenants;
import carillon.store.stats.StatsReader.Due;
import carillon.store.stats.StatsReader.PerType;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Statistics equal a count of all rows, but are read without one. */
class StatsReaderTest {

  private static final int TYPES = 6;
  private static World world;
  private static StatsReader reader;
  private static TenantId other;
  private static Set<TenantId> both;
  private static Partition today;
  private static Partition lastWeek;

  @BeforeAll
  static void fill() throws Exception {
    world = World.create();
    world.node("node");
    other = world.store.tenants().put("other", Tenants.Settings.DEFAULT, "test").id();
    both = Set.of(World.TENANT, other);
    for (int type = 0; type < TYPES; type++) {
      for (TenantId tenant : both) {
        world.tasks.create(tenant, World.task("t" + type, new Target.Pull()));
        world.tasks.create(tenant, World.task("t" + type, new Target.Discard()));
      }
    }
    world.sql("UPDATE carillon.task SET state = 'CANCELLED', ready_at = NULL");
    today = Partition.of(world.clock.instant());
    lastWeek = Partition.of(world.clock.instant().minus(Duration.ofDays(7)));
    world.partitions.ensure(lastWeek);
    Partition nextWeek = Partition.of(world.clock.instant().plus(Duration.ofDays(7)));
    world.partitions.ensure(nextWeek);
    world.sql("SELECT setseed(0.5)");
    for (Partition partition : new Partition[] {today, lastWeek, nextWeek}) {
      randomTasks(partition);
    }
    world.sql(
        "UPDATE carillon.partition SET opens_at = now() WHERE day = '" + nextWeek.day() + "'");
    // A claim can contain tasks of several tenants, and tasks that have already ended.
    world.sql(
        """
        INSERT INTO carillon.claim (id, node, leased_by, partition, tenants, tasks, fences)
        SELECT gen_random_uuid(), 'node', 'node', partition, array_agg(tenant), array_agg(id), array_agg(1)
        FROM (SELECT tenant, id, partition, CASE WHEN state = 'PENDING' THEN lane % 3 ELSE -n END AS part
              FROM (SELECT *, row_number() OVER () AS n FROM carillon.task) t
              WHERE state = 'COMPLETED' OR progress = 'runs') t
        GROUP BY part, partition
        """);
    world.requeue();
    world.sql(
        """
        INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, error)
        SELECT t.tenant, t.id, t.partition, l.type, now(), 'kind ' || chr(65 + (random() * 5)::int)
        FROM carillon.task t JOIN carillon.lane l ON l.id = t.lane
        WHERE t.state = 'DEAD'
        """);
    world.sql("DELETE FROM carillon.dead_letter WHERE type = 't3'"); // leaves empty groups
    reader = new StatsReader(world.db, world.catalog, world.partitions, world.clock);
    world.catalog.refresh();
    WaitingCounts counts = new WaitingCounts(world.db);
    counts.changes().keySet().forEach(partition -> counts.save(partition, counts.count(partition)));
  }

  private static void randomTasks(Partition partition) {
    world.sql(
        """
        INSERT INTO carillon.task (tenant, id, partition, lane, state, fence, ready_at, progress, due_at, created_at)
        SELECT l.tenant, gen_random_uuid(), DATE '%s', l.id,
               CASE s.state WHEN 'RUNNING' THEN 'PENDING' ELSE s.state END, CASE s.state WHEN 'COMPLETED' THEN 1 ELSE 0 END,
               CASE WHEN s.state IN ('PENDING', 'RUNNING')
                    THEN now() + CASE WHEN random() < 0.5 THEN -1 ELSE 1 END * (60 + random() * 3600) * interval '1 s' END,
               CASE WHEN s.state = 'RUNNING' THEN 'runs' END, now(), now()
        FROM carillon.lane l
        CROSS JOIN generate_series(1, 50) AS n
        CROSS JOIN LATERAL (
            SELECT (ARRAY['PENDING', 'PENDING', 'RUNNING', 'COMPLETED', 'DEAD', 'EXPIRED']::carillon.task_state[])
                   [1 + floor(random() * 6 + n * 0 + l.id * 0)::int] AS state
        ) s
        WHERE l.type <> 't5'
        """
            .formatted(partition.day()));
  }

  @AfterAll
  static void close() {
    world.close();
  }

  /** Counts all rows and lists {@code type=number}, sorted by type. */
  private static String counted(TenantId tenant, String value, String where) {
    return world.value(
        """
        SELECT coalesce(string_agg(type || '=' || n, ', ' ORDER BY type), '')
        FROM (SELECT l.type, %s AS n
              FROM carillon.every_task t JOIN carillon.lane l ON l.id = t.lane
              WHERE t.tenant = %d AND %s
              GROUP BY l.type) c
        """
            .formatted(value, tenant.value(), where));
  }

  private static <T> String formatted(
      Map<TenantId, PerType<T>> perTenant, TenantId tenant, Function<T, Object> value) {
    StringBuilder formatted = new StringBuilder();
    new TreeMap<>(Objects.requireNonNull(perTenant.get(tenant)).types())
        .forEach(
            (type, n) ->
                formatted
                    .append(formatted.isEmpty() ? "" : ", ")
                    .append(type)
                    .append('=')
                    .append(value.apply(n)));
    return formatted.toString();
  }

  @Test
  void waiting_running_and_dead_counts_match_the_rows() {
    for (TenantId tenant : both) {
      assertThat(formatted(reader.waiting(both), tenant, n -> n))
          .isEqualTo(counted(tenant, "count(*)", "t.ready_at IS NOT NULL"))
          .contains("t0=");
      assertThat(formatted(reader.running(both), tenant, n -> n))
          .isEqualTo(counted(tenant, "count(*)", "t.state = 'RUNNING'"))
          .contains("t0=");
      assertThat(formatted(reader.dead(both), tenant, n -> n))
          .isEqualTo(counted(tenant, "count(*)", "t.state = 'DEAD' AND l.type <> 't3'"))
          .contains("t0=");
    }
    assertThat(reader.running(Set.of(other)).keySet()).containsExactly(other);
  }

  @Test
  void due_counts_match_the_rows_in_all_partitions() {
    Map<TenantId, PerType<Due>> due = reader.due(both);

    for (TenantId tenant : both) {
      assertThat(formatted(due, tenant, Due::tasks))
          .isEqualTo(counted(tenant, "count(*)", "t.ready_at <= now()"));
      assertThat(
              formatted(due, tenant, each -> Objects.requireNonNull(each.oldest()).toEpochMilli()))
          .isEqualTo(
              counted(
                  tenant,
                  "floor(extract(epoch FROM min(t.ready_at)) * 1000)::bigint",
                  "t.ready_at <= now()"));
    }
    assertThat(Objects.requireNonNull(due.get(other)).atLeast()).isFalse();
  }

  @Test
  void due_tasks_are_counted_up_to_a_limit() {
    try (World backlogged = World.create()) {
      backlogged.discard();
      Partition partition = Partition.of(backlogged.clock.instant());
      backlogged.sql(
          """
          INSERT INTO carillon.task (tenant, id, partition, lane, ready_at, due_at, created_at)
          SELECT 1, gen_random_uuid(), DATE '%s', 1, now() - n * interval '1 ms', now(), now()
          FROM generate_series(1, %d) AS n
          """
              .formatted(partition.day(), StatsReader.MAX_DUE_PER_LANE + 5));
      var ours =
          new StatsReader(
              backlogged.db, backlogged.catalog, backlogged.partitions, backlogged.clock);

      Due due =
          Objects.requireNonNull(
              Objects.requireNonNull(ours.due(Set.of(World.TENANT)).get(World.TENANT))
                  .types()
                  .get("t"));

      assertThat(due.tasks()).isEqualTo(StatsReader.MAX_DUE_PER_LANE);
      assertThat(due.atLeast()).isTrue();
      assertThat(due.oldest()).isBefore(backlogged.clock.instant().minusSeconds(9));
    }
  }

  @Test
  void running_tasks_are_counted_up_to_a_limit_for_each_tenant() {
    try (World busy = World.create()) {
      busy.node("node");
      TenantId small = busy.store.tenants().put("small", Tenants.Settings.DEFAULT, "test").id();
      // A claim of tasks that no longer exist.
      busy.sql(
          """
          INSERT INTO carillon.claim (id, node, leased_by, partition, tenants, tasks, fences)
          SELECT '00000000-0000-0000-0000-000000000000', 'node', 'node', DATE '%s', array_agg(1),
                 array_agg(gen_random_uuid()), array_agg(1)
          FROM generate_series(1, %d)
          """
              .formatted(Partition.of(busy.clock.instant()).day(), StatsReader.MAX_RUNNING + 5));
      busy.tasks.create(small, World.task("t", new Target.Discard()));
      busy.claimOne("node");
      var ours = new StatsReader(busy.db, busy.catalog, busy.partitions, busy.clock);

      Map<TenantId, PerType<Long>> running = ours.running(Set.of(World.TENANT, small));

      assertThat(running.get(small)).isEqualTo(new PerType<>(Map.of("t", 1L), false));
      assertThat(running.get(World.TENANT)).isEqualTo(new PerType<>(Map.of(), true));
    }
  }

  @Test
  void sums_of_due_tasks_have_the_oldest_time() {
    Instant early = Instant.parse("2027-01-31T00:00:00Z");
    Due first = new Due(1, false, early);
    Due second = new Due(2, true, early.plusSeconds(1));

    assertThat(first.and(second)).isEqualTo(new Due(3, true, early));
    assertThat(second.and(first)).isEqualTo(new Due(3, true, early));
    assertThat(Due.NONE.and(second)).isEqualTo(second);
    assertThat(second.and(Due.NONE)).isEqualTo(second);
  }

  @ParameterizedTest
  @CsvSource({
    "StatsReader, WAITING, waiting",
    "DuePartitions, WAITING, waiting",
    "StatsReader, COUNT_DEAD, dead_letter_group",
    "ActivityReader, ADD_UP, activity",
    "ActivityReader, SERIES, activity",
    "WaitingCounts, DELETE_EMPTY, waiting"
  })
  void all_statistics_use_an_index(String type, String field, String table) throws Exception {
    String sql = QueryPlans.statement(QueryPlans.storeClass(type).getDeclaredField(field));

    assertThat(QueryPlans.genericPlan(world, sql))
        .doesNotContain("Seq Scan on " + table)
        .doesNotContain("Join Filter")
        .contains("Index");
  }

  @Test
  void emptied_lanes_are_not_compared_with_all_others() throws Exception {
    String sql = QueryPlans.statement(WaitingCounts.class.getDeclaredField("DELETE_EMPTY"));

    assertThat(QueryPlans.genericPlan(world, sql))
        .contains("Index Scan using waiting_pkey on waiting ")
        .containsPattern("Index Cond: .*lane = ANY .*partition = ")
        .doesNotContainPattern("Filter: .*(ANY|ALL)");
  }

  @ParameterizedTest
  @CsvSource({
    "ADD_UP, span = n.span.*tenant = n.tenant.*type = n.type.*at >= n.since.*at < n.until",
    "SERIES, 'span = .*tenant = .*type = ANY .*at >= '"
  })
  void sums_read_ranges_of_the_primary_key(String field, String range) throws Exception {
    String sql = QueryPlans.statement(ActivityReader.class.getDeclaredField(field));

    assertThat(QueryPlans.genericPlan(world, sql))
        .contains("using activity_pkey")
        .containsPattern("Index Cond: .*" + range);
  }
}
