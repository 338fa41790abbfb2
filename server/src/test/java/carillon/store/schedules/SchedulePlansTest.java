package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.cron.NominalTime;
import carillon.model.schedule.FireHash;
import carillon.model.schedule.FirePlan;
import carillon.model.schedule.FireSettlement;
import carillon.store.QueryPlans;
import carillon.store.catalog.Types;
import carillon.store.db.Sql;
import carillon.store.tasks.TaskCancels;
import carillon.testkit.TestSchedule;
import carillon.testkit.World;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Query plans of the planner and the API with 100,000 idle schedules and a million old fires, but
 * planner statistics of one schedule.
 */
@Tag("slow")
class SchedulePlansTest {

  private static final int IDLE = 100_000;
  private static final int OLD = 1_000_000;

  private static final List<Class<?>> STORE =
      List.of(
          DueSchedules.class,
          FirePlanWriter.class,
          PlannedTaskWithdrawals.class,
          TaskCancels.class,
          Schedules.class,
          ScheduleDefinitions.class,
          ManualTriggers.class,
          FireHistory.class);

  /** Statements that may start a scan of a whole index, because they stop at its first entry. */
  private static final Set<String> WHOLE_INDEX = Set.of("DueSchedules.earliest");

  private static World world;
  private static Instant now;

  @BeforeAll
  static void fill() {
    world = World.create();
    now = world.clock.instant().truncatedTo(ChronoUnit.SECONDS);
    TestSchedule.every("first", Duration.ofHours(1)).insert(world, now.plusSeconds(7_200));
    world.partitions.ensure(Partition.of(now));
    world.sql("ALTER TABLE carillon.schedule SET (autovacuum_enabled = false)");
    world.sql("ALTER TABLE carillon.schedule_fire SET (autovacuum_enabled = false)");
    world.sql("ANALYZE carillon.schedule, carillon.schedule_fire");
    world.sql(
        """
        INSERT INTO carillon.schedule (
            tenant, name, every_ms, timezone, dst_gap, dst_overlap, overlap, catch_up, catch_up_limit,
            catch_up_window_ms, jitter_ms, type, created_at, updated_at, anchor, cursor, plan_at)
        SELECT 1, 'idle-' || n, 86400000, 'UTC', 'SHIFT', 'FIRST', 'SKIP', 'LAST', 100, 604800000, 0, 't', now(),
               now(), now(), now(), timestamptz '%s' + interval '1 hour' + n * interval '1 ms'
        FROM generate_series(1, %d) AS n
        """
            .formatted(now, IDLE));
    world.sql(
        """
        INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, task, partition, outcome)
        SELECT 1 + n %% 1000, timestamptz '%1$s' - n * interval '1 s', timestamp '2027-01-01', 'NONE', 'SCHEDULED',
               gen_random_uuid(), DATE '2027-01-01', 'COMPLETED'
        FROM generate_series(1, %2$d) AS n
        """
            .formatted(now, OLD));
  }

  @AfterAll
  static void close() {
    world.close();
  }

  static Stream<String> statements() {
    return STORE.stream()
        .flatMap(type -> Stream.of(type.getDeclaredFields()))
        .filter(field -> Modifier.isStatic(field.getModifiers()) && field.getType() == String.class)
        .map(QueryPlans::statement)
        .filter(sql -> sql.startsWith("/* "))
        .filter(
            sql -> !sql.replace("{partition}", "").contains("{")); // templates of other statements
  }

  @ParameterizedTest
  @MethodSource("statements")
  void every_statement_about_schedules_uses_an_index(String sql) {
    String plan = QueryPlans.genericPlan(world, Sql.forPartition(sql, Partition.of(now)));

    // Each task that runs is looked for among the claims, of which there are few.
    assertThat(plan.replace("Seq Scan on claim c", "")).doesNotContain("Seq Scan on");
    assertThat(plan).as("no comparison of all pairs").doesNotContain("Join Filter");
    if (!WHOLE_INDEX.contains(Sql.name(sql))) {
      assertThat(count(plan, "Index Cond: ")).as(plan).isEqualTo(count(plan, "Index (Only )?Scan"));
    }
    if (Sql.name(sql).equals("DueSchedules.due")) {
      assertThat(plan).containsPattern("using schedule_plan .*\n +Index Cond: .*plan_at <=");
    }
  }

  private static long count(String plan, String pattern) {
    return Pattern.compile(pattern).matcher(plan).results().count();
  }

  @Test
  void the_known_statements_are_among_those_checked() {
    assertThat(statements().map(Sql::name))
        .contains(
            "DueSchedules.earliest",
            "DueSchedules.due",
            "DueSchedules.lock",
            "DueSchedules.unsettled",
            "FirePlanWriter.settle",
            "FirePlanWriter.record",
            "FirePlanWriter.advance",
            "PlannedTaskWithdrawals.planned",
            "Schedules.lock",
            "FireHistory.list",
            "FireHistory.lastRun",
            "FireHistory.previousOutcome",
            "FireHistory.newest",
            "TaskCancels.cancelWaiting");
  }

  @Test
  void the_schedules_of_a_type_are_found_by_an_index() throws NoSuchFieldException {
    String plan =
        QueryPlans.genericPlan(
            world, QueryPlans.statement(Types.class.getDeclaredField("NAMED_BY")));

    assertThat(plan).containsPattern("schedule_type .*\\n +Index Cond: .*tenant = .*type = ");
  }

  @Test
  void a_pass_with_nothing_due_reads_one_entry_of_one_index() {
    String statement =
        statements().filter(sql -> sql.contains("earliest")).findFirst().orElseThrow();

    String plan = QueryPlans.analyze(world, statement);

    assertThat(plan).containsPattern("Index (Only )?Scan using schedule_plan .*rows=1[. ]");
    assertThat(pages(plan)).isLessThan(10);
  }

  @Test
  void planning_cost_does_not_grow_with_idle_schedules_or_old_fires() {
    long id = TestSchedule.every("due", Duration.ofHours(1)).insert(world, now);
    world.countStatements();
    world.value("SELECT pg_stat_statements_reset()");

    DueSchedules.Step step =
        new DueSchedules(world.db, world.tasks).planUnderLock(now, 1_000, due -> plan(due, id));

    assertThat(step.created()).isEqualTo(1);
    double pages =
        Double.parseDouble(
            world.value(
                """
                SELECT sum(shared_blks_hit + shared_blks_read)
                FROM pg_stat_statements s
                JOIN pg_database d ON d.oid = s.dbid
                WHERE d.datname = current_database()
                  AND s.query LIKE '%carillon.schedule%'
                """));
    assertThat(pages).isLessThan(150);
  }

  private static List<DueSchedules.Planned> plan(List<DueSchedules.Locked> due, long id) {
    assertThat(due).extracting(each -> each.schedule().id()).containsExactly(id);
    Instant at = now.plusSeconds(20);
    var time =
        new NominalTime(at, LocalDateTime.ofInstant(at, ZoneOffset.UTC), NominalTime.Shift.NONE);
    var create = new FirePlan.Decision.Create(time, FireHash.taskId(id, 1, at, at), at);
    return List.of(
        new DueSchedules.Planned(
            due.getFirst(),
            FireSettlement.of(List.of(), 0, due.getFirst().schedule().schedule()),
            new FirePlan(List.of(create), List.of(), at, at.plusSeconds(7_200), 0)));
  }

  private static int pages(String plan) {
    Matcher found = Pattern.compile("Buffers: shared hit=(\\d+)( read=(\\d+))?").matcher(plan);
    assertThat(found.find()).isTrue();
    String read = found.group(3);
    return Integer.parseInt(found.group(1)) + (read == null ? 0 : Integer.parseInt(read));
  }
}
