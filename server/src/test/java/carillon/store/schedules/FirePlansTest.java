package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.schedule.OverlapRule;
import carillon.store.QueryPlans;
import carillon.store.tasks.TaskFilter;
import carillon.testkit.ScheduleRows;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Query plans and page reads of backfills, lists and the janitor with a million fires, but planner
 * statistics of a single one.
 */
@Tag("slow")
class FirePlansTest {

  private static final int FIRES = 1_000_000;

  private static World world;
  private static long schedule;

  @BeforeAll
  static void fill() {
    world = World.create();
    ScheduleRows scheduled = new ScheduleRows(world);
    schedule = scheduled.every("s", 1);
    scheduled.recordSkip(schedule, "2025-01-01T00:00:00Z", "PAUSED");
    world.sql("ALTER TABLE carillon.schedule_fire SET (autovacuum_enabled = false)");
    world.sql("ANALYZE carillon.schedule_fire, carillon.schedule, carillon.backfill");
    // Half belong to this schedule, half to a thousand deleted ones; all were recorded today.
    world.sql(
        """
        INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, skipped)
        SELECT CASE WHEN n %% 2 = 0 THEN %d ELSE 1000000 + n %% 2000 END, at, at AT TIME ZONE 'UTC', 'NONE',
               'SCHEDULED', 'PAUSED'
        FROM (SELECT n, '2024-01-01T00:00:00Z'::timestamptz + n * interval '1 s' AS at
              FROM generate_series(1, %d) AS n) AS n
        """
            .formatted(schedule, FIRES));
    world.countStatements();
  }

  @AfterAll
  static void close() {
    world.close();
  }

  @ParameterizedTest
  @CsvSource({
    "BackfillSteps, TAKEN, schedule_fire_pkey, schedule =.*at =",
    "BackfillSteps, SKIPPED, schedule_fire_pkey, schedule =.*at =",
    "PlannedTaskWithdrawals, LATE, schedule_fire_open, schedule =.*at <=",
    "ScheduleTasks, FIRES, schedule_fire_pkey, schedule = .*ROW",
    "ScheduleTasks, TASKS, task_, id =",
    "FireRetention, FORGET, schedule_fire_age, recorded_at <",
    "FireRetention, SCHEDULES, schedule_fire_, schedule >",
    "FireRetention, FORGET_OF, schedule_fire_, schedule =",
    "BackfillSteps, OPEN, backfill_open, ",
    "BackfillSteps, LOCK, backfill_pkey, id =",
    "BackfillSteps, LOCK_SCHEDULE, schedule_pkey, id =",
    "Backfills, LIST, backfill_schedule, schedule =",
    "Backfills, FORGET, backfill_age, finished_at <"
  })
  void a_statement_uses_its_index(String type, String statement, String index, String condition)
      throws Exception {
    String plan = QueryPlans.genericPlan(world, text(type, statement));

    // Each task that runs is looked for among the claims, of which there are few.
    assertThat(plan.replace("Seq Scan on claim c", "")).doesNotContain("Seq Scan on");
    assertThat(plan).containsPattern("(using|on) " + index);
    if (condition != null) {
      assertThat(plan).containsPattern("Index Cond: .*" + condition);
    }
  }

  @ParameterizedTest
  @CsvSource({"FORGET", "FORGET_OF"})
  void fires_are_deleted_by_ctid(String statement) throws Exception {
    assertThat(QueryPlans.genericPlan(world, text("FireRetention", statement)))
        .contains("Tid Scan on schedule_fire");
  }

  @Test
  void page_reads_do_not_grow_with_the_number_of_fires() {
    Instant from = Instant.parse("2025-10-01T10:00:00Z");
    var request = new Backfills.Request(from, from.plusSeconds(999), OverlapRule.QUEUE, false);
    new ScheduleRows(world).backfill("s", request);
    List<UUID> open = world.store.backfillSteps().open(1);
    open.forEach(world.store.backfillSteps()::take);
    TaskFilter filter = new TaskFilter(null, null, null, "s", null, null, null, Map.of());
    int listed =
        world
            .store
            .schedules()
            .tasks(World.TENANT, filter, 100, null, false)
            .orElseThrow()
            .items()
            .size();
    int forgotten = world.store.fireRetention().forgetOld(Duration.ofDays(1), 5_000);
    int deleted = world.store.fireRetention().forgetDeleted(5_000);

    assertThat(open).hasSize(1);
    assertThat(listed).isEqualTo(100);
    assertThat(forgotten).isZero();
    assertThat(deleted).isEqualTo(5_000);
    assertThat(pages("n.at\nFROM unnest")).as("existing tasks").isLessThan(10_000);
    assertThat(pages("AS f (schedule, at, local, shift")).as("recorded fires").isLessThan(20_000);
    assertThat(pages("SELECT at, local, task, partition")).as("a page of fires").isLessThan(2_000);
    assertThat(pages("WITH ORDINALITY")).as("the tasks of a page of fires").isLessThan(5_000);
    assertThat(pages("SELECT f.ctid\n")).as("old fires").isLessThan(50);
    assertThat(pages("WITH RECURSIVE known")).as("deleted schedules").isLessThan(20_000);
    assertThat(pages("f.place")).as("fires of deleted schedules").isLessThan(40_000);
  }

  private static double pages(String statement) {
    return Double.parseDouble(
        world.value(
            """
            SELECT sum(shared_blks_hit + shared_blks_read)
            FROM pg_stat_statements s
            JOIN pg_database d ON d.oid = s.dbid
            WHERE d.datname = current_database()
              AND strpos(regexp_replace(s.query, '\\n +', E'\\n', 'g'), E'%s') > 0
              AND strpos(s.query, 'pg_stat_statements') = 0
              AND strpos(s.query, 'EXPLAIN') = 0
            """
                .formatted(statement.replace("\n", "\\n"))));
  }

  private static String text(String type, String statement) throws Exception {
    return QueryPlans.statement(QueryPlans.storeClass(type).getDeclaredField(statement));
  }
}
