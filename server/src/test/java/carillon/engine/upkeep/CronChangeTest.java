package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.cron.DstRule;
import carillon.model.schedule.CatchUp;
import carillon.model.schedule.OverlapRule;
import carillon.model.schedule.Schedule;
import carillon.store.schedules.Schedules;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A change of a schedule's rule applies from the moment of the change. */
class CronChangeTest {

  private static final Duration STEP = Duration.ofSeconds(30);

  private World world;
  private Instant midnight;
  private TestPlanner planner;
  private Schedules schedules;

  @BeforeEach
  void open() {
    world = World.create();
    midnight = world.clock.instant().truncatedTo(ChronoUnit.DAYS).minus(Duration.ofDays(3));
    planner = new TestPlanner(world, midnight);
    schedules =
        new Schedules(world.db, world.catalog, world.tasks, planner, world.signals.scheduleSaved());
  }

  @AfterEach
  void close() {
    world.close();
  }

  /**
   * @param text a cron expression, an interval such as PT1H, or an interval and the hour of its
   *     start such as PT1H from 9
   */
  private Schedule rule(String text, String zone) {
    String[] parts = text.split(" from ", -1);
    boolean isInterval = text.startsWith("PT");
    return schedule(
        isInterval ? null : parts[0],
        isInterval ? Duration.parse(parts[0]) : null,
        ZoneId.of(zone),
        Duration.ZERO,
        parts.length == 1 ? null : clock(Integer.parseInt(parts[1]), 0));
  }

  private static Schedule schedule(
      @Nullable String cron,
      @Nullable Duration every,
      ZoneId zone,
      Duration jitter,
      @Nullable Instant startAt) {
    return new Schedule(
        "s",
        cron,
        every,
        zone,
        DstRule.DEFAULT,
        OverlapRule.ALLOW,
        new CatchUp(CatchUp.Rule.ALL, 100, Duration.ofDays(7)),
        jitter,
        startAt,
        null,
        null,
        null,
        new Schedule.TaskTemplate("t", null, null, "{}", null, null));
  }

  private void put(Instant now, Schedule schedule) {
    planner.standAt(now);
    world.db.inTransaction(
        tx ->
            schedules.put(
                tx,
                World.TENANT,
                new Schedules.Wanted(schedule, null),
                "me",
                Schedules.Expected.ANY));
  }

  private Instant clock(int hour, int minute) {
    return midnight.plus(Duration.ofHours(hour)).plus(Duration.ofMinutes(minute));
  }

  private String fires() {
    return world.value(
        """
        SELECT string_agg(to_char(at AT TIME ZONE 'UTC', 'DD HH24:MI:SS'), ', ' ORDER BY at)
        FROM (SELECT at - (timestamptz '%s' - timestamptz '2000-01-01T00:00:00Z') AS at
              FROM carillon.schedule_fire) AS fire
        """
            .formatted(midnight));
  }

  @ParameterizedTest
  @CsvSource({
    "30 2 * * *, UTC, 0 12 * * *, UTC, 36, '01 02:30:00, 02 12:00:00'",
    "30 2 * * *, UTC, 0 * * * *, UTC, 16, '01 02:30:00, 01 16:00:00'",
    "0 2 * * *, UTC, 0 2 * * *, America/Bogota, 31, '01 02:00:00, 02 07:00:00'",
    "PT10H, UTC, PT4H, UTC, 16, '01 10:00:00, 01 16:00:00'",
    "PT1H from 20, UTC, PT1H from 6, UTC, 16, '01 16:00:00'",
    "PT1H from 20, UTC, 0 * * * *, UTC, 16, '01 16:00:00'",
  })
  void a_new_rule_does_not_apply_to_times_before_the_change(
      String before, String zone, String after, String newZone, int hour, String fires) {
    put(midnight, rule(before, zone));
    planner.planUntil(clock(15, 0), STEP);
    put(clock(15, 0).plusSeconds(10), rule(after, newZone));
    planner.planAt(clock(15, 0).plusSeconds(10));

    planner.planAt(clock(hour, 0));

    assertThat(fires()).isEqualTo(fires);
    assertThat(planner.missed()).isZero();
  }

  @Test
  void an_unplanned_time_before_a_change_fires_if_the_new_rule_has_it_too() {
    put(midnight, rule("0 12 * * *", "UTC"));
    planner.planAt(midnight).standAt(clock(12, 0).plusSeconds(20)); // no pass in between

    put(clock(12, 0).plusSeconds(20), rule("0 12,15 * * *", "UTC"));
    planner.planAt(clock(12, 0).plusSeconds(21));

    assertThat(fires()).isEqualTo("01 12:00:00");
    assertThat(planner.missed()).isZero();
  }

  @Test
  void an_unplanned_time_before_a_change_does_not_fire_if_the_new_rule_lacks_it() {
    put(midnight, rule("0 12 * * *", "UTC"));
    planner.planAt(midnight);

    put(clock(12, 0).plusSeconds(20), rule("0 11,13 * * *", "UTC"));
    planner.planAt(clock(12, 0).plusSeconds(21));

    assertThat(fires()).isEqualTo("null");
    assertThat(planner.missed()).isZero();
  }

  /** Creates a schedule with a passed nominal time whose task is due some hours later. */
  private void planJitteredFire() {
    put(midnight, schedule("0 1 * * *", null, ZoneOffset.UTC, Duration.ofHours(24), null));
    planner.planAt(midnight).planAt(clock(1, 0)).standAt(clock(1, 0).plusMillis(1));
    assertThat(stateOfTask()).isEqualTo("PENDING");
  }

  private String stateOfTask() {
    return world.value("SELECT state FROM carillon.task WHERE fire_at = '" + clock(1, 0) + "'");
  }

  @Test
  void a_fire_delayed_by_jitter_is_cancelled_by_a_pause() {
    planJitteredFire();

    world.db.inTransaction(
        tx -> schedules.pause(tx, World.TENANT, "s", null, "me", Schedules.Expected.ANY));
    planner.planAt(clock(1, 1));

    assertThat(stateOfTask()).isEqualTo("CANCELLED");
    assertThat(
            world.value("SELECT concat_ws(' ', at > now(), outcome) FROM carillon.schedule_fire"))
        .isEqualTo("f CANCELLED");
    assertThat(world.value("SELECT concat_ws(' ', runs, cancelled) FROM carillon.schedule"))
        .isEqualTo("1 1");
  }

  @Test
  void a_planned_fire_is_cancelled_by_a_put_with_a_pause() {
    planJitteredFire();
    Schedule same = schedules.find(World.TENANT, "s").orElseThrow().schedule();

    world.db.inTransaction(
        tx ->
            schedules.put(
                tx, World.TENANT, new Schedules.Wanted(same, true), "me", Schedules.Expected.ANY));

    assertThat(stateOfTask()).isEqualTo("CANCELLED");
  }

  @Test
  void a_planned_fire_is_cancelled_by_a_delete() {
    planJitteredFire();

    world.db.inTransaction(
        tx -> schedules.delete(tx, World.TENANT, "s", "me", Schedules.Expected.ANY));

    assertThat(stateOfTask()).isEqualTo("CANCELLED");
  }

  @Test
  void a_change_of_the_rule_keeps_a_planned_fire() {
    planJitteredFire();

    put(clock(1, 0).plusMillis(1), rule("0 5 * * *", "UTC"));

    assertThat(stateOfTask()).isEqualTo("PENDING");
  }

  @Test
  void several_changes_lose_no_unplanned_time() {
    put(midnight, rule("0 * * * *", "UTC"));
    planner.planAt(midnight);

    put(clock(3, 10), rule("0 * * * *", "Europe/Berlin"));
    put(clock(3, 20), rule("0 * * * *", "UTC"));
    planner.planAt(clock(3, 20));

    assertThat(fires()).isEqualTo("01 01:00:00, 01 02:00:00, 01 03:00:00");
    assertThat(planner.missed()).isEqualTo(3);
  }

  @Test
  void a_change_does_not_stop_a_catch_up_of_several_passes() {
    put(midnight, rule("* * * * * *", "UTC"));
    planner.planAt(midnight);
    long plannedAhead = Long.parseLong(world.value("SELECT count(*) FROM carillon.schedule_fire"));
    planner.standAt(clock(1, 0)).planOnce();
    assertThat(world.value("SELECT cursor < plan_at FROM carillon.schedule")).isEqualTo("t");

    put(clock(1, 0).plusMillis(1), rule("*/2 * * * * *", "UTC"));
    planner.planAt(clock(1, 0).plusMillis(2));

    assertThat(plannedAhead).isEqualTo(30);
    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.schedule_fire WHERE at > '%s' AND at <= '%s'"
                    .formatted(clock(0, 30), clock(1, 0))))
        .isEqualTo("900");
  }
}
