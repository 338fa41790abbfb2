package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.testkit.TestSchedule;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The planner resumes after a day without planning. */
@Tag("slow")
class CronCatchUpTest {

  private static final int MINUTES_OF_A_DAY = 1_440;

  private World world;
  private Instant start;

  @BeforeEach
  void open() {
    world = World.create();
    start = world.clock.instant().truncatedTo(ChronoUnit.DAYS).minus(Duration.ofDays(3));
  }

  @AfterEach
  void close() {
    world.close();
  }

  private String fires(String condition) {
    return world.value("SELECT count(*) FROM carillon.schedule_fire WHERE " + condition);
  }

  private String counters() {
    return world.value(
        "SELECT concat_ws(' ', runs, skipped_window, skipped_overlap, skipped_paused)"
            + " FROM carillon.schedule");
  }

  @ParameterizedTest
  @CsvSource({
    // rule, limit, window, tasks of the day
    "LAST, 100, P7D, 1",
    "ALL, 100, P7D, 100",
    "ALL, 1000, PT1H, 61", // both ends of the window are inclusive
    "ALL, 1000, P7D, 1000"
  })
  void each_missed_nominal_time_is_caught_up_or_skipped(
      String rule, int limit, Duration window, int tasks) {
    TestSchedule.every("s", Duration.ofMinutes(1))
        .with("catch_up", rule)
        .with("catch_up_limit", limit)
        .with("catch_up_window_ms", window.toMillis())
        .insert(world, start);
    Instant resumed = start.plus(Duration.ofDays(1));

    TestPlanner planner = new TestPlanner(world, start).planAt(start).planAt(resumed);

    assertThat(fires("true")).isEqualTo("" + MINUTES_OF_A_DAY);
    assertThat(fires("task IS NOT NULL")).isEqualTo("" + tasks);
    assertThat(fires("skipped = 'WINDOW'")).isEqualTo("" + (MINUTES_OF_A_DAY - tasks));
    assertThat(counters()).isEqualTo(tasks + " " + (MINUTES_OF_A_DAY - tasks) + " 0 0");
    assertThat(planner.missed()).isEqualTo(MINUTES_OF_A_DAY);
    // The newest times, in order and a second apart, starting when planning resumed.
    assertThat(
            world.value(
                """
                SELECT count(*)
                FROM (
                    SELECT fire_at, due_at, row_number() OVER (ORDER BY fire_at) - 1 AS i
                    FROM carillon.task
                ) t
                WHERE fire_at > timestamptz '%1$s' - make_interval(mins => %2$d)
                  AND due_at >= timestamptz '%1$s' + make_interval(secs => i)
                  AND due_at < timestamptz '%1$s' + make_interval(secs => i + 1)
                """
                    .formatted(resumed, tasks)))
        .isEqualTo("" + tasks);
  }

  @Test
  void without_catch_up_only_times_missed_by_at_most_a_minute_become_tasks() {
    TestSchedule.every("s", Duration.ofMinutes(1)).with("catch_up", "NONE").insert(world, start);
    Instant resumed = start.plus(Duration.ofDays(1));

    TestPlanner planner = new TestPlanner(world, start).planAt(start).planAt(resumed);

    assertThat(fires("true")).isEqualTo("" + MINUTES_OF_A_DAY);
    assertThat(fires("task IS NOT NULL AND at >= timestamptz '" + resumed + "' - interval '60 s'"))
        .isEqualTo("2");
    assertThat(counters()).isEqualTo("2 " + (MINUTES_OF_A_DAY - 2) + " 0 0");
    assertThat(planner.missed()).isEqualTo(MINUTES_OF_A_DAY - 2);
  }

  @Test
  void a_missed_day_of_a_schedule_by_the_second_is_planned_in_steps() {
    TestSchedule.every("s", Duration.ofSeconds(1)).insert(world, start);
    Instant resumed = start.plus(Duration.ofDays(1));

    TestPlanner planner = new TestPlanner(world, resumed).planAt(resumed);

    assertThat(planner.missed()).isEqualTo(86_400);
    assertThat(fires("at <= '" + resumed + "' AND skipped = 'WINDOW'")).isEqualTo("86399");
    assertThat(fires("at = '" + resumed + "' AND task IS NOT NULL")).isEqualTo("1");
    assertThat(fires("at > '" + resumed + "' AND task IS NOT NULL")).isEqualTo("30");
    assertThat(fires("true")).isEqualTo("86430");
  }

  @Test
  void nominal_times_during_a_pause_do_not_count_as_missed() {
    TestSchedule.every("s", Duration.ofMinutes(1)).with("paused", true).insert(world, start);
    Instant resumed = start.plus(Duration.ofDays(1));

    TestPlanner planner = new TestPlanner(world, resumed).planAt(resumed);

    assertThat(planner.missed()).isZero();
    assertThat(fires("skipped = 'PAUSED'")).isEqualTo("" + MINUTES_OF_A_DAY);
    assertThat(counters()).isEqualTo("0 0 0 " + MINUTES_OF_A_DAY);
  }
}
