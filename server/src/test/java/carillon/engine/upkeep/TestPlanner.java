package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.store.db.Db;
import carillon.store.schedules.DueSchedules;
import carillon.store.schedules.StoredSchedule;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** The planner of one process, with a time set by the test. */
public final class TestPlanner implements InstantSource {

  public final List<EngineEvent> events = new ArrayList<>();
  private final CronPlanner planner;
  private Instant now;

  public TestPlanner(World world, Instant now) {
    this(world, world.db, now);
  }

  /**
   * @param db the database that the planner writes to
   */
  TestPlanner(World world, Db db, Instant now) {
    this.now = now;
    this.planner =
        new CronPlanner(
            new DueSchedules(db, world.tasks), StoredSchedule::timetable, this, events::add);
  }

  @Override
  public Instant instant() {
    return now;
  }

  /** Moves the time without planning. */
  TestPlanner standAt(Instant time) {
    now = time;
    return this;
  }

  /** Plans everything that is due at this time. */
  public TestPlanner planAt(Instant time) {
    now = time;
    while (planner.planOnce().isZero()) {
      // until nothing is left
    }
    return this;
  }

  /** Runs one pass. */
  void planOnce() {
    planner.planOnce();
  }

  /** Moves to this time in steps, and plans at each step. */
  void planUntil(Instant end, Duration step) {
    while (now.isBefore(end)) {
      planAt(now.plus(step));
    }
  }

  Duration lag() {
    return planner.lag();
  }

  int missed() {
    return events.stream()
        .mapToInt(event -> event instanceof EngineEvent.FireMissed missed ? missed.times() : 0)
        .sum();
  }
}
