package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Outcome;
import carillon.testkit.TestSchedule;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A schedule fires every minute for ten minutes, and its tasks take 150 s.
 *
 * <p>The planner, the claims with their concurrency keys and the outcomes are real. The test moves
 * the time of the day before yesterday in steps of ten seconds. In each step it ends the tasks that
 * were claimed 150 s ago, then runs the planner, then claims as many tasks as are due at that time;
 * by the clock of the database all of them are due.
 */
class CronOverlapTest {

  private static final Duration STEP = Duration.ofSeconds(10);
  private static final Duration TASK_DURATION = Duration.ofSeconds(150);

  private World world;
  private Instant start;
  private final Map<ClaimedTask, Instant> running = new LinkedHashMap<>();
  private final List<String> started = new ArrayList<>();

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
    start = world.clock.instant().truncatedTo(ChronoUnit.DAYS).minus(Duration.ofDays(2));
  }

  @AfterEach
  void close() {
    world.close();
  }

  @ParameterizedTest
  @CsvSource({
    "ALLOW, "
        + "COMPLETED COMPLETED COMPLETED COMPLETED COMPLETED COMPLETED COMPLETED RUNNING RUNNING"
        + " RUNNING, "
        + "60 120 180 240 300 360 420 480 540 600, "
        + "10 7 0 0",
    "SKIP, "
        + "COMPLETED OVERLAP OVERLAP COMPLETED OVERLAP OVERLAP COMPLETED OVERLAP OVERLAP RUNNING, "
        + "60 240 420 600, "
        + "4 3 0 6",
    "QUEUE, "
        + "COMPLETED COMPLETED OVERLAP COMPLETED OVERLAP RUNNING OVERLAP OVERLAP PENDING OVERLAP, "
        + "60 210 360 510, "
        + "5 3 0 5",
    "CANCEL_PREVIOUS, "
        + "COMPLETED CANCELLED COMPLETED CANCELLED CANCELLED COMPLETED CANCELLED RUNNING CANCELLED"
        + " PENDING, "
        + "60 210 360 510, "
        + "10 3 4 0" // the last cancel is recorded by the next pass
  })
  void overlap_rules_apply_to_tasks_longer_than_the_interval(
      String rule, String outcomes, String starts, String counters) {
    TestSchedule.every("s", Duration.ofMinutes(1)).with("overlap", rule).insert(world, start);
    TestPlanner planner = new TestPlanner(world, start);

    for (Instant now = start; !now.isAfter(start.plusSeconds(600)); now = now.plus(STEP)) {
      finish(now);
      planner.planAt(now);
      claim(now);
    }

    assertThat(outcomes()).isEqualTo(outcomes);
    assertThat(String.join(" ", started)).isEqualTo(starts);
    assertThat(counters()).isEqualTo(counters);
  }

  private void finish(Instant now) {
    List<ClaimedTask> ended =
        running.entrySet().stream()
            .filter(each -> !each.getValue().plus(TASK_DURATION).isAfter(now))
            .map(Map.Entry::getKey)
            .toList();
    world
        .store
        .outcomes()
        .finishAttempts(
            ended.stream().map(t -> new Attempted(t, new Outcome.Completed(null, null))).toList(),
            Set.of(),
            "node");
    ended.forEach(running::remove);
  }

  private void claim(Instant now) {
    int due =
        Integer.parseInt(
            world.value(
                "SELECT count(*) FROM carillon.every_task WHERE state = 'PENDING' AND due_at <= '"
                    + now
                    + "'"));
    for (ClaimedTask task : due == 0 ? List.<ClaimedTask>of() : world.claim("node", due)) {
      running.put(task, now);
      started.add("" + Duration.between(start, now).toSeconds());
    }
  }

  /**
   * The outcome of each nominal time up to the end: the state of its task, or why it was skipped.
   */
  private String outcomes() {
    return world.value(
        """
        SELECT string_agg(coalesce(f.skipped, t.state::text), ' ' ORDER BY f.at)
        FROM carillon.schedule_fire f
        LEFT JOIN carillon.every_task t ON t.id = f.task AND t.partition = f.partition
        WHERE f.at <= timestamptz '%s' + interval '10 minutes'
        """
            .formatted(start));
  }

  private String counters() {
    return world.value(
        "SELECT concat_ws(' ', runs, completed, cancelled, skipped_overlap)"
            + " FROM carillon.schedule");
  }
}
