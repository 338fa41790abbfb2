package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.cron.DstRule;
import carillon.model.schedule.CatchUp;
import carillon.model.schedule.OverlapRule;
import carillon.model.schedule.Schedule;
import carillon.store.db.Tx;
import carillon.testkit.Overlapping;
import carillon.testkit.World;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs every pair of changes of one schedule, the second starting while the first is uncommitted.
 * The result must be that of some sequential order.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ScheduleRaceTest {

  enum Step {
    PUT_HOURLY,
    PUT_DAILY,
    PAUSE,
    RESUME,
    TRIGGER,
    DELETE
  }

  /**
   * The expected state of the schedule, and the effect of each step.
   *
   * @param hours the interval; 0 if there is no such schedule
   */
  record Model(int hours, boolean paused, int version, int triggered) {

    static final Model ABSENT = new Model(0, false, 0, 0);
    static final Model HOURLY = new Model(1, false, 1, 0);
    static final Model PAUSED = new Model(1, true, 2, 0);

    Model after(Step step) {
      return switch (step) {
        case PUT_HOURLY -> put(1);
        case PUT_DAILY -> put(24);
        case PAUSE -> exists() && !paused ? paused(true) : this;
        case RESUME -> exists() && paused ? paused(false) : this;
        case TRIGGER -> exists() ? new Model(hours, paused, version, triggered + 1) : this;
        case DELETE -> new Model(0, false, 0, triggered);
      };
    }

    private boolean exists() {
      return hours > 0;
    }

    private Model put(int wanted) {
      return hours == wanted ? this : new Model(wanted, paused, version + 1, triggered);
    }

    private Model paused(boolean isPaused) {
      return new Model(hours, isPaused, version + 1, triggered);
    }
  }

  private World world;
  private Overlapping overlapping;

  @BeforeAll
  void open() {
    world = World.create();
    overlapping = new Overlapping(world);
  }

  @AfterAll
  void close() {
    overlapping.close();
    world.close();
  }

  record Overlap(Model start, Step first, Step second, boolean commits) {}

  static Stream<Overlap> overlaps() {
    List<Overlap> overlaps = new ArrayList<>();
    for (Model start : List.of(Model.ABSENT, Model.HOURLY, Model.PAUSED)) {
      for (Step first : Step.values()) {
        for (Step second : Step.values()) {
          overlaps.add(new Overlap(start, first, second, true));
          overlaps.add(new Overlap(start, first, second, false));
        }
      }
    }
    return overlaps.stream();
  }

  @ParameterizedTest
  @MethodSource("overlaps")
  void overlapping_changes_have_the_result_of_some_sequential_order(Overlap overlap)
      throws InterruptedException, ExecutionException {
    for (String table : List.of("schedule", "schedule_fire", "task", "audit")) {
      world.sql("DELETE FROM carillon." + table);
    }
    Model start = overlap.start();
    if (start.hours() > 0) {
      world.db.inTransaction(tx -> run(tx, Step.PUT_HOURLY));
    }
    if (start.paused()) {
      world.db.inTransaction(tx -> run(tx, Step.PAUSE));
    }

    overlapping.run(
        tx -> run(tx, overlap.first()), overlap.commits(), tx -> run(tx, overlap.second()));

    Model afterFirst = overlap.commits() ? start.after(overlap.first()) : start;
    List<Model> legal = new ArrayList<>(List.of(afterFirst.after(overlap.second())));
    if (overlap.commits()) {
      legal.add(start.after(overlap.second()).after(overlap.first()));
    }
    assertThat(legal).as("%s", overlap).contains(actual());
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE state = 'PENDING'"))
        .isEqualTo(world.value("SELECT count(*) FROM carillon.schedule_fire"));
  }

  private Schedules.Result run(Tx tx, Step step) {
    Schedules schedules = world.store.schedules();
    return switch (step) {
      case PUT_HOURLY -> put(tx, 1);
      case PUT_DAILY -> put(tx, 24);
      case PAUSE -> schedules.pause(tx, World.TENANT, "n", null, "me", Schedules.Expected.ANY);
      case RESUME -> schedules.resume(tx, World.TENANT, "n", "me", Schedules.Expected.ANY);
      case TRIGGER -> schedules.trigger(tx, World.TENANT, "n", null, "me");
      case DELETE -> schedules.delete(tx, World.TENANT, "n", "me", Schedules.Expected.ANY);
    };
  }

  private Schedules.Result put(Tx tx, int hours) {
    Schedule schedule =
        new Schedule(
            "n",
            null,
            Duration.ofHours(hours),
            ZoneId.of("UTC"),
            DstRule.DEFAULT,
            OverlapRule.SKIP,
            CatchUp.DEFAULT,
            Duration.ZERO,
            null,
            null,
            null,
            null,
            new Schedule.TaskTemplate("t", null, null, null, null, null));
    return world
        .store
        .schedules()
        .put(tx, World.TENANT, new Schedules.Wanted(schedule, null), "me", Schedules.Expected.ANY);
  }

  private Model actual() {
    int triggered =
        Integer.parseInt(
            world.value("SELECT count(*) FROM carillon.schedule_fire WHERE kind = 'TRIGGER'"));
    return world
        .store
        .schedules()
        .find(World.TENANT, "n")
        .map(
            found ->
                new Model(
                    (int) Objects.requireNonNull(found.schedule().every()).toHours(),
                    found.isPaused(),
                    found.version(),
                    triggered))
        .orElse(new Model(0, false, 0, triggered));
  }
}
