package carillon.model.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.cron.DstRule;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import carillon.model.task.TaskState;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Plans a schedule at random times, with a clock that sometimes goes back, random pauses, tasks
 * that end at random, and batches of any size.
 */
@Tag("slow")
class FirePlanPropertyTest {

  private static final Instant NOON = Instant.parse("2027-01-10T12:00:00Z");
  private static final int ROUNDS = 50;
  private static final int PASSES = 200;

  private final List<NominalTime> decided = new ArrayList<>();
  private final Set<TaskId> tasks = new HashSet<>();

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void every_nominal_time_up_to_the_cursor_is_decided_once(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < ROUNDS; round++) {
      decided.clear();
      tasks.clear();
      Duration interval = Duration.ofSeconds(1 + random.nextInt(random.nextBoolean() ? 5 : 300));
      Schedule schedule = schedule(random, interval);
      Timetable timetable = TestTimetable.every(NOON, interval);

      Instant cursor = planRepeatedly(schedule, timetable, random);

      List<Instant> expected = new ArrayList<>();
      for (Instant at = NOON.plus(interval); !at.isAfter(cursor); at = at.plus(interval)) {
        expected.add(at);
      }
      assertThat(decided.stream().map(NominalTime::at).toList())
          .as("seed %d, round %d, %s", seed, round, schedule)
          .isEqualTo(expected);
      assertThat(decided).isNotEmpty();
    }
  }

  private static Schedule schedule(Random random, Duration interval) {
    return new Schedule(
        "s",
        null,
        interval,
        ZoneId.of("UTC"),
        DstRule.DEFAULT,
        one(List.of(OverlapRule.values()), random),
        new CatchUp(
            one(List.of(CatchUp.Rule.values()), random),
            1 + random.nextInt(20),
            Duration.ofSeconds(60 + random.nextInt(4_000))),
        Duration.ofSeconds(20L * random.nextInt(3)),
        null,
        null,
        null,
        null,
        new Schedule.TaskTemplate("t", null, null, null, null, null));
  }

  private static <T> T one(List<T> of, Random random) {
    return of.get(random.nextInt(of.size()));
  }

  private Instant planRepeatedly(Schedule schedule, Timetable timetable, Random random) {
    Instant cursor = NOON;
    Instant now = NOON;
    List<UnsettledFire> live = new ArrayList<>();
    boolean paused = false;
    for (int pass = 0; pass < PASSES; pass++) {
      now = now.plusMillis(random.nextInt(random.nextInt(20) == 0 ? 2_000_000 : 30_000));
      if (random.nextInt(30) == 0) {
        now = now.minusSeconds(90);
      }
      paused ^= random.nextInt(15) == 0;
      live.removeIf(_ -> random.nextInt(3) == 0);
      var state = new FirePlan.State(7, 1, schedule, timetable, cursor, 0, paused, live);

      FirePlan plan = FirePlan.of(state, now, 1 + random.nextInt(50));

      assertThat(plan.cursor()).isAfterOrEqualTo(cursor);
      assertThat(plan.planAt()).isAfterOrEqualTo(now);
      for (FirePlan.Decision decision : plan.decisions()) {
        decided.add(decision.time());
        if (decision instanceof FirePlan.Decision.Create create) {
          assertThat(tasks.add(create.task())).as("is a new task").isTrue();
          live.add(
              new UnsettledFire(
                  create.time().at(),
                  create.time().local(),
                  false,
                  now,
                  create.task(),
                  TaskState.PENDING));
        }
      }
      cursor = plan.cursor();
    }
    return cursor;
  }
}
