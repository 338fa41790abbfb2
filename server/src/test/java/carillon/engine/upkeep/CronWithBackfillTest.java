package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.schedule.OverlapRule;
import carillon.store.schedules.Backfills;
import carillon.testkit.ScheduleRows;
import carillon.testkit.TestSchedule;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A schedule follows its own rule alongside a backfill with 500 waiting tasks. */
class CronWithBackfillTest {

  private static final int WAITING = 500;

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

  private void backfill() {
    var request =
        new Backfills.Request(
            start.minus(Duration.ofMinutes(WAITING)),
            start.minusSeconds(1),
            OverlapRule.QUEUE,
            false);
    new ScheduleRows(world).backfill("s", request);
    world.store.backfillSteps().open(1).forEach(world.store.backfillSteps()::take);
    assertThat(backfilled("PENDING")).isEqualTo("" + WAITING);
  }

  private String backfilled(String state) {
    return world.value(
        "SELECT count(*) FROM carillon.task WHERE fire_at < '%s' AND state = '%s'"
            .formatted(start, state));
  }

  /** The outcomes of the schedule's own nominal times. */
  private String ownFires() {
    return world.value(
        """
        SELECT string_agg(coalesce(f.skipped, t.state::text), ' ' ORDER BY f.at)
        FROM carillon.schedule_fire f
        LEFT JOIN carillon.task t ON t.id = f.task AND t.partition = f.partition
        WHERE f.at > '%s'
        """
            .formatted(start));
  }

  private void complete(String condition) {
    world.sql(
        "UPDATE carillon.task SET state = 'COMPLETED', ready_at = NULL, finished_at = now() WHERE "
            + condition);
  }

  @ParameterizedTest
  @CsvSource({
    "SKIP, PENDING OVERLAP, COMPLETED OVERLAP PENDING",
    "QUEUE, PENDING PENDING, COMPLETED PENDING PENDING",
    "CANCEL_PREVIOUS, CANCELLED PENDING, CANCELLED CANCELLED PENDING"
  })
  void a_backfill_and_its_schedule_do_not_block_each_other(
      String rule, String afterTwo, String afterThree) {
    TestSchedule.every("s", Duration.ofMinutes(1))
        .with("overlap", rule)
        .with("anchor", start.minus(Duration.ofDays(1)))
        .insert(world, start);
    backfill();

    planner.planAt(start.plusSeconds(60)).planAt(start.plusSeconds(120));
    assertThat(ownFires()).isEqualTo(afterTwo);
    complete("state = 'PENDING' AND fire_at = '" + start.plusSeconds(60) + "'");
    planner.planAt(start.plusSeconds(180));

    assertThat(ownFires()).startsWith(afterThree);
    assertThat(backfilled("PENDING")).isEqualTo("" + WAITING);
    assertThat(planner.missed()).isZero();
  }

  @ParameterizedTest
  @CsvSource({"SKIP", "CANCEL_PREVIOUS"})
  void outcomes_of_backfilled_tasks_are_recorded(String rule) {
    TestSchedule.every("s", Duration.ofMinutes(1))
        .with("overlap", rule)
        .with("anchor", start.minus(Duration.ofDays(1)))
        .with("end_at", start.plusSeconds(1))
        .insert(world, start);
    backfill();

    planner.planAt(start.plusSeconds(61));
    complete("fire_at < '" + start + "'");
    planner.planUntil(start.plusSeconds(400), Duration.ofSeconds(1));

    assertThat(
            world.value(
                "SELECT concat_ws(' ', runs, completed, plan_at IS NULL)"
                    + " FROM carillon.schedule"))
        .isEqualTo("0 500 t");
  }
}
