package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.cluster.Term;
import carillon.model.schedule.Schedule;
import carillon.model.task.ClaimedTask;
import carillon.store.cluster.Leadership;
import carillon.store.db.StoreException;
import carillon.store.schedules.DueSchedules;
import carillon.store.schedules.Schedules;
import carillon.testkit.TestSchedule;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The planner with more work than fits into one step. */
class CronBoundsTest {

  private World world;
  private Instant start;
  private TestPlanner planner;

  @BeforeEach
  void open() {
    world = World.create();
    start = world.clock.instant().truncatedTo(ChronoUnit.DAYS).minus(Duration.ofDays(2));
    planner = new TestPlanner(world, start);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Instant at(long seconds) {
    return start.plusSeconds(seconds);
  }

  /** Repeats failed passes, as the loop does, and returns their number. */
  private int planThroughFailures(Instant time) {
    for (int failed = 0; failed < 30; failed++) {
      try {
        planner.planAt(time);
        return failed;
      } catch (StoreException e) {
        assertThat(e.isTooMuch()).as(e.toString()).isTrue();
      }
    }
    throw new AssertionError("fails forever");
  }

  @ParameterizedTest
  @ValueSource(strings = {"57014", "25P03", "53200"})
  void a_step_that_times_out_is_repeated_with_fewer_schedules(String state) {
    for (int i = 0; i < 100; i++) {
      TestSchedule.every("s" + i, Duration.ofMinutes(1)).insert(world, start);
    }
    world.sql(
        """
        CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF (SELECT count(*) FROM inserted) > 20 THEN
                RAISE EXCEPTION 'too many' USING ERRCODE = '%s';
            END IF;
            RETURN NULL;
        END
        $$
        """
            .formatted(state));
    world.sql(
        "CREATE TRIGGER refuse_many AFTER INSERT ON carillon.schedule_fire REFERENCING NEW TABLE AS"
            + " inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()");

    int failed = planThroughFailures(at(30));

    assertThat(failed).isPositive();
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("100");
  }

  @Test
  void a_schedule_that_times_out_alone_is_postponed_and_does_not_block_the_others() {
    TestSchedule.every("heavy", Duration.ofMinutes(1)).insert(world, start.minusSeconds(1));
    for (int i = 0; i < 10; i++) {
      TestSchedule.every("s" + i, Duration.ofMinutes(1)).insert(world, start);
    }
    world.sql(
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.schedule = (SELECT id FROM carillon.schedule WHERE name = 'heavy') THEN
                RAISE EXCEPTION 'refused' USING ERRCODE = '57014';
            END IF;
            RETURN NEW;
        END
        $$
        """);
    world.sql(
        "CREATE TRIGGER refuse BEFORE INSERT ON carillon.schedule_fire FOR EACH ROW"
            + " EXECUTE FUNCTION refuse()");

    planThroughFailures(at(30));

    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("10");
    assertThat(
            world.value(
                "SELECT plan_at = '" + at(90) + "' FROM carillon.schedule WHERE name = 'heavy'"))
        .isEqualTo("t");
  }

  @Test
  void a_step_reads_fewer_schedules_if_they_have_many_open_fires() {
    for (int i = 0; i < 250; i++) {
      TestSchedule.every("s" + i, Duration.ofMinutes(1)).insert(world, start);
    }
    world.sql(
        """
        INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, task, partition)
        SELECT s.id, at, at AT TIME ZONE 'UTC', 'NONE', 'SCHEDULED', gen_random_uuid(), '%1$s'
        FROM carillon.schedule s
        CROSS JOIN generate_series(timestamptz '%1$s' - interval '199 s', '%1$s', interval '1 s') AS at
        """
            .formatted(start));
    List<DueSchedules.Locked> read = new ArrayList<>();

    DueSchedules.Step step =
        new DueSchedules(world.db, world.tasks)
            .planUnderLock(
                start,
                1_000,
                due -> {
                  read.addAll(due);
                  return List.of();
                });

    assertThat(step.due()).isEqualTo(250);
    assertThat(read).hasSize(100).allMatch(due -> due.unsettled().size() == 200);
  }

  @Test
  void a_live_task_behind_many_finished_ones_is_found() {
    TestSchedule.every("s", Duration.ofMinutes(1))
        .with("overlap", "SKIP")
        .with("catch_up", "ALL")
        .with("catch_up_limit", 450)
        .insert(world, start);
    planner.planAt(at(450 * 60));
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("450");
    world.sql(
        "UPDATE carillon.task SET state = 'COMPLETED', ready_at = NULL WHERE fire_at < '"
            + at(450 * 60)
            + "'");

    planner.planAt(at(451 * 60));

    assertThat(
            world.value(
                "SELECT concat_ws(' ', runs, completed, skipped_overlap) FROM carillon.schedule"))
        .isEqualTo("450 449 1");
  }

  @Test
  void a_task_started_early_is_not_cancelled_by_its_own_fire() {
    Instant now = world.clock.instant().truncatedTo(ChronoUnit.SECONDS);
    TestSchedule.every("s", Duration.ofSeconds(20))
        .with("overlap", "CANCEL_PREVIOUS")
        .insert(world, now);
    planner.planAt(now);
    TaskId id = TaskId.parse(world.value("SELECT id FROM carillon.task")).orElseThrow();
    world.db.inTransaction(tx -> world.tasks.runNow(tx, World.TENANT, id, "test", null));
    world.node("node");
    ClaimedTask started = world.claimOne("node");
    changeMaxRuns();

    planner.planAt(now.plusSeconds(20));

    assertThat(started.id()).isEqualTo(id);
    assertThat(world.find(id).cancelRequested()).isFalse();
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("1");
    planner.planAt(now.plusSeconds(40));
    assertThat(world.find(id).cancelRequested()).isTrue();
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("2");
  }

  private void changeMaxRuns() {
    Schedule s = world.store.schedules().find(World.TENANT, "s").orElseThrow().schedule();
    var changed =
        new Schedule(
            s.name(),
            s.cron(),
            s.every(),
            s.zone(),
            s.dst(),
            s.overlap(),
            s.catchUp(),
            s.jitter(),
            s.startAt(),
            s.endAt(),
            100,
            s.pauseAfterFailures(),
            s.task());
    world.db.inTransaction(
        tx ->
            world
                .store
                .schedules()
                .put(
                    tx,
                    World.TENANT,
                    new Schedules.Wanted(changed, null),
                    "test",
                    Schedules.Expected.ANY));
  }

  @Test
  void a_node_that_lost_leadership_reports_no_missed_fires()
      throws InterruptedException, ExecutionException {
    var leadership = new Leadership(world.db);
    Optional<Term> term = leadership.take("planner", Duration.ofMinutes(1));
    world.sql("UPDATE carillon.leadership SET lease_until = now()");
    var leading = new TestPlanner(world, world.db.onlyInTerm(() -> term), start);
    TestSchedule.every("s", Duration.ofMinutes(1)).insert(world, start);
    world.sql("CREATE SEQUENCE inserts");
    world.sql(
        """
        CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('inserts') = 1 THEN
                WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) LOOP
                    PERFORM pg_sleep(0.01);
                END LOOP;
                PERFORM pg_terminate_backend(pg_backend_pid());
                PERFORM pg_sleep(5); -- not reached: the session ends first
            END IF;
            RETURN NULL;
        END
        $$
        """);
    world.sql(
        "CREATE TRIGGER die AFTER INSERT ON carillon.schedule_fire FOR EACH STATEMENT EXECUTE"
            + " FUNCTION die()");
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<Optional<Term>> other =
          threads.submit(
              () -> {
                await().until(() -> !world.value("SELECT is_called FROM inserts").equals("f"));
                return leadership.take("other", Duration.ofMinutes(1));
              });
      assertThatThrownBy(() -> leading.planAt(at(3_600)))
          .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.isStaleTerm()).isTrue());
      assertThat(other.get()).isPresent();
    }

    assertThat(world.value("SELECT count(*) FROM carillon.schedule_fire")).isEqualTo("0");
    assertThat(leading.missed()).isZero();
    planner.planAt(at(3_600));
    assertThat(planner.missed()).isEqualTo(60);
  }
}
