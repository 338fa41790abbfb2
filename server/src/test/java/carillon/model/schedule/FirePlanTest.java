package carillon.model.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.cron.DstRule;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import carillon.model.task.TaskState;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lists the planner's decisions: seconds after noon, then "task" or the reason for the skip. */
class FirePlanTest {

  private static final Instant NOON = Instant.parse("2027-01-10T12:00:00Z");
  private static final int LIMIT = 1_000;
  private static final CatchUp LAST = CatchUp.DEFAULT;

  private static Schedule schedule(OverlapRule overlap, CatchUp catchUp) {
    return schedule(overlap, catchUp, Duration.ZERO, null, null, null);
  }

  private static Schedule schedule(
      OverlapRule overlap,
      CatchUp catchUp,
      Duration jitter,
      @Nullable Instant startAt,
      @Nullable Instant endAt,
      @Nullable Integer maxRuns) {
    return new Schedule(
        "s",
        null,
        Duration.ofMinutes(1),
        ZoneId.of("UTC"),
        DstRule.DEFAULT,
        overlap,
        catchUp,
        jitter,
        startAt,
        endAt,
        maxRuns,
        null,
        new Schedule.TaskTemplate("t", null, null, null, null, null));
  }

  private static final Timetable MINUTES = TestTimetable.every(NOON, Duration.ofMinutes(1));

  private static FirePlan.State state(
      Schedule schedule, Timetable timetable, Instant cursor, UnsettledFire... live) {
    return new FirePlan.State(7, 1, schedule, timetable, cursor, 0, false, List.of(live));
  }

  private static FirePlan.State paused(Schedule schedule, Instant cursor) {
    return new FirePlan.State(7, 1, schedule, MINUTES, cursor, 0, true, List.of());
  }

  private static UnsettledFire live(Instant at, TaskState state) {
    return new UnsettledFire(
        at,
        LocalDateTime.ofInstant(at, ZoneOffset.UTC),
        false,
        at,
        FireHash.taskId(7, 1, at, at),
        state);
  }

  private static List<String> decisions(FirePlan plan) {
    List<String> decisions = new ArrayList<>();
    for (FirePlan.Decision decision : plan.decisions()) {
      long seconds = Duration.between(NOON, decision.time().at()).toSeconds();
      decisions.add(
          switch (decision) {
            case FirePlan.Decision.Create _ -> seconds + " task";
            case FirePlan.Decision.Skip skip -> seconds + " " + skip.reason().label();
          });
    }
    return decisions;
  }

  private static Instant at(long seconds) {
    return NOON.plusSeconds(seconds);
  }

  @Test
  void a_fire_becomes_a_task_thirty_seconds_before_it_is_due() {
    var state = state(schedule(OverlapRule.ALLOW, LAST), MINUTES, at(0));

    FirePlan early = FirePlan.of(state, at(29), LIMIT);
    FirePlan inTime = FirePlan.of(state, at(30), LIMIT);

    assertThat(early.decisions()).isEmpty();
    assertThat(early.cursor()).isEqualTo(at(0));
    assertThat(early.planAt()).isEqualTo(at(30));
    assertThat(decisions(inTime)).containsExactly("60 task");
    assertThat(inTime.cursor()).isEqualTo(at(60));
    assertThat(inTime.planAt()).isEqualTo(at(90));
    assertThat(((FirePlan.Decision.Create) inTime.decisions().getFirst()).dueAt())
        .isEqualTo(at(60));
  }

  @Test
  void a_fire_that_is_late_by_less_than_the_grace_keeps_its_due_time() {
    FirePlan plan =
        FirePlan.of(
            state(
                schedule(OverlapRule.ALLOW, new CatchUp(CatchUp.Rule.NONE, 1, Duration.ofDays(1))),
                MINUTES,
                at(0)),
            at(120),
            LIMIT);

    assertThat(decisions(plan)).containsExactly("60 task", "120 task");
    assertThat(((FirePlan.Decision.Create) plan.decisions().getFirst()).dueAt()).isEqualTo(at(60));
    assertThat(plan.missed()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    // rule, limit, window in s, decisions about 60, 120, 180, 240 at second 250
    "NONE, 100, 86400, window window window task", // the last one is late, but not missed
    "LAST, 100, 86400, window window window task",
    "LAST, 100, 5, window window window window",
    "ALL, 100, 86400, task task task task",
    "ALL, 2, 86400, window window task task",
    "ALL, 100, 70, window window task task",
    "ALL, 100, 130, window task task task"
  })
  void missed_times_follow_the_catch_up_rule(
      CatchUp.Rule rule, int limit, int window, String expected) {
    var catchUp = new CatchUp(rule, limit, Duration.ofSeconds(window));

    FirePlan plan =
        FirePlan.of(state(schedule(OverlapRule.ALLOW, catchUp), MINUTES, at(0)), at(250), LIMIT);

    assertThat(
            String.join(
                " ", decisions(plan).stream().map(s -> s.substring(s.indexOf(' ') + 1)).toList()))
        .isEqualTo(expected);
    assertThat(plan.missed()).isEqualTo(rule == CatchUp.Rule.NONE ? 3 : 4);
    assertThat(plan.cursor()).isEqualTo(at(240));
  }

  @ParameterizedTest
  @CsvSource({
    // decisions about 60, 120, 180 without catch-up, by the second of the pass
    "ALLOW, '', 121, window task",
    "ALLOW, '', 180, window task task",
    "ALLOW, '', 181, window window task",
    "SKIP, '', 180, window task overlap",
    "SKIP, RUNNING, 180, window overlap overlap",
    "QUEUE, RUNNING, 180, window task overlap",
    "CANCEL_PREVIOUS, RUNNING, 180, window task task"
  })
  void without_catch_up_late_times_follow_the_overlap_rule(
      OverlapRule overlap, String live, long second, String expected) {
    var none = new CatchUp(CatchUp.Rule.NONE, 100, Duration.ofDays(1));
    UnsettledFire[] open =
        live.isEmpty()
            ? new UnsettledFire[0]
            : new UnsettledFire[] {live(at(0), TaskState.valueOf(live))};

    FirePlan plan =
        FirePlan.of(state(schedule(overlap, none), MINUTES, at(0), open), at(second), LIMIT);

    assertThat(String.join(" ", decisions(plan)).replaceAll("[0-9]+ ", "")).isEqualTo(expected);
  }

  @Test
  void without_catch_up_small_batches_decide_the_same() {
    var none = new CatchUp(CatchUp.Rule.NONE, 100, Duration.ofDays(1));
    List<String> all = new ArrayList<>();
    FirePlan plan = FirePlan.nothing(at(0), at(250));
    while (at(250).equals(plan.planAt())) {
      plan =
          FirePlan.of(state(schedule(OverlapRule.ALLOW, none), MINUTES, plan.cursor()), at(250), 1);
      all.addAll(decisions(plan));
    }

    assertThat(all).containsExactly("60 window", "120 window", "180 window", "240 task");
  }

  @Test
  void caught_up_tasks_are_due_a_second_apart_and_not_before_now() {
    var catchUp = new CatchUp(CatchUp.Rule.ALL, 100, Duration.ofDays(1));

    FirePlan plan =
        FirePlan.of(state(schedule(OverlapRule.SKIP, catchUp), MINUTES, at(0)), at(6_001), LIMIT);

    assertThat(plan.decisions()).hasSize(100);
    for (int i = 0; i < 100; i++) {
      Instant dueAt = ((FirePlan.Decision.Create) plan.decisions().get(i)).dueAt();
      assertThat(dueAt).isBetween(at(6_001 + i), at(6_002 + i));
    }
  }

  @Test
  void missed_times_stay_missed_when_a_huge_range_is_planned_in_batches() {
    Timetable seconds = TestTimetable.every(NOON, Duration.ofSeconds(1));
    Schedule schedule = schedule(OverlapRule.ALLOW, LAST);
    Instant now = at(100_000);
    Instant cursor = at(0);
    List<String> all = new ArrayList<>();
    int passes = 0;
    for (Instant planAt = now; planAt != null && !planAt.isAfter(now); passes++) {
      FirePlan plan = FirePlan.of(state(schedule, seconds, cursor), now, LIMIT);
      all.addAll(decisions(plan));
      assertThat(plan.decisions()).hasSizeLessThanOrEqualTo(100 + 100);
      cursor = plan.cursor();
      planAt = plan.planAt();
    }

    assertThat(passes).isBetween(1_000, 1_002);
    assertThat(all).hasSize(100_030);
    assertThat(all.subList(0, 99_999)).allMatch(s -> s.endsWith(" window"));
    assertThat(all.subList(99_999, 100_030)).allMatch(s -> s.endsWith(" task"));
  }

  @Test
  void a_paused_schedule_skips_due_times_and_leaves_later_ones_undecided() {
    FirePlan plan = FirePlan.of(paused(schedule(OverlapRule.ALLOW, LAST), at(0)), at(250), LIMIT);

    assertThat(decisions(plan))
        .containsExactly("60 paused", "120 paused", "180 paused", "240 paused");
    assertThat(plan.planAt()).isEqualTo(at(300));
    assertThat(FirePlan.of(paused(schedule(OverlapRule.ALLOW, LAST), at(240)), at(275), LIMIT))
        .isEqualTo(FirePlan.nothing(at(240), at(300)));
  }

  @ParameterizedTest
  @CsvSource({
    // overlap rule, states of the live tasks, decision about 60 when it is due
    "ALLOW, RUNNING, task",
    "SKIP, '', task",
    "SKIP, RUNNING, overlap",
    "SKIP, PENDING, overlap",
    "QUEUE, '', task",
    "QUEUE, RUNNING, task",
    "QUEUE, PENDING, task",
    "QUEUE, RUNNING PENDING, overlap",
    "CANCEL_PREVIOUS, '', task",
    "CANCEL_PREVIOUS, RUNNING, task",
    "CANCEL_PREVIOUS, RUNNING PENDING, task"
  })
  void the_overlap_rule_applies_when_a_time_is_due(
      OverlapRule overlap, String states, String expected) {
    List<UnsettledFire> live = new ArrayList<>();
    for (String each : states.split(" ", -1)) {
      if (each.isEmpty()) {
        continue;
      }
      live.add(live(at(-60L * live.size()), TaskState.valueOf(each)));
    }

    FirePlan plan =
        FirePlan.of(
            state(schedule(overlap, LAST), MINUTES, at(0), live.toArray(UnsettledFire[]::new)),
            at(60),
            LIMIT);

    assertThat(decisions(plan)).containsExactly("60 " + expected);
    assertThat(plan.cancels())
        .extracting(FirePlan.Cancel::task)
        .isEqualTo(
            overlap == OverlapRule.CANCEL_PREVIOUS
                ? live.stream().map(UnsettledFire::task).toList()
                : List.of());
  }

  @ParameterizedTest
  @CsvSource({"SKIP", "QUEUE", "CANCEL_PREVIOUS"})
  void while_a_task_is_live_the_next_time_is_decided_only_when_due(OverlapRule overlap) {
    var state = state(schedule(overlap, LAST), MINUTES, at(0), live(at(0), TaskState.RUNNING));

    assertThat(FirePlan.of(state, at(45), LIMIT)).isEqualTo(FirePlan.nothing(at(0), at(60)));
  }

  @Test
  void a_task_created_in_a_pass_is_live_for_the_next_nominal_time() {
    Timetable tens = TestTimetable.every(NOON, Duration.ofSeconds(10));

    FirePlan skip =
        FirePlan.of(state(schedule(OverlapRule.SKIP, LAST), tens, at(0)), at(25), LIMIT);
    FirePlan queue =
        FirePlan.of(state(schedule(OverlapRule.QUEUE, LAST), tens, at(0)), at(35), LIMIT);
    FirePlan cancel =
        FirePlan.of(state(schedule(OverlapRule.CANCEL_PREVIOUS, LAST), tens, at(0)), at(25), LIMIT);

    assertThat(decisions(skip)).containsExactly("10 task", "20 overlap");
    assertThat(skip.planAt()).isEqualTo(at(30));
    assertThat(decisions(queue)).containsExactly("10 task", "20 task", "30 overlap");
    assertThat(decisions(cancel)).containsExactly("10 task", "20 task");
    assertThat(cancel.cancels())
        .containsExactly(
            new FirePlan.Cancel(
                ((FirePlan.Decision.Create) cancel.decisions().getFirst()).task(),
                ((FirePlan.Decision.Create) cancel.decisions().getLast()).task()));
  }

  @Test
  void catch_up_last_obeys_the_overlap_rule_and_catch_up_all_does_not() {
    UnsettledFire running = live(at(0), TaskState.RUNNING);
    var all = new CatchUp(CatchUp.Rule.ALL, 2, Duration.ofDays(1));

    FirePlan last =
        FirePlan.of(
            state(schedule(OverlapRule.SKIP, LAST), MINUTES, at(0), running), at(190), LIMIT);
    FirePlan both =
        FirePlan.of(
            state(schedule(OverlapRule.SKIP, all), MINUTES, at(0), running), at(190), LIMIT);

    assertThat(decisions(last)).containsExactly("60 window", "120 window", "180 overlap");
    assertThat(decisions(both)).containsExactly("60 window", "120 task", "180 task");
  }

  @Test
  void start_and_end_are_inclusive() {
    Schedule bounded = schedule(OverlapRule.ALLOW, LAST, Duration.ZERO, at(120), at(240), null);

    List<String> all = new ArrayList<>();
    Instant cursor = at(0);
    FirePlan plan = FirePlan.nothing(cursor, at(0));
    while (plan.planAt() != null) {
      plan = FirePlan.of(state(bounded, MINUTES, cursor), plan.planAt(), LIMIT);
      all.addAll(decisions(plan));
      cursor = plan.cursor();
    }

    assertThat(all).containsExactly("120 task", "180 task", "240 task", "300 ended");
  }

  @Test
  void the_end_is_recorded_after_all_fires_are_settled() {
    Schedule twice = schedule(OverlapRule.ALLOW, LAST, Duration.ZERO, null, null, 2);
    Timetable tens = TestTimetable.every(NOON, Duration.ofSeconds(10));

    FirePlan plan = FirePlan.of(state(twice, tens, at(0)), at(0), LIMIT);

    assertThat(decisions(plan)).containsExactly("10 task", "20 task");
    assertThat(plan.planAt()).isEqualTo(at(60));
    var running =
        new FirePlan.State(
            7, 1, twice, tens, at(20), 2, false, List.of(live(at(20), TaskState.RUNNING)));
    assertThat(decisions(FirePlan.of(running, at(60), LIMIT))).isEmpty();
    var done = new FirePlan.State(7, 1, twice, tens, at(20), 2, false, List.of());
    assertThat(FirePlan.of(done, at(25), LIMIT).planAt()).isEqualTo(at(30));
    FirePlan end = FirePlan.of(done, at(60), LIMIT);
    assertThat(decisions(end)).containsExactly("30 ended");
    assertThat(end.planAt()).isNull();
  }

  @Test
  void a_long_running_task_is_checked_after_twice_as_long_each_time() {
    Timetable days = TestTimetable.every(NOON, Duration.ofDays(1));
    Schedule schedule = schedule(OverlapRule.ALLOW, LAST);
    List<Long> passes = new ArrayList<>();
    Instant now = at(0);
    for (int i = 0; i < 6; i++) {
      FirePlan plan =
          FirePlan.of(state(schedule, days, at(0), live(at(0), TaskState.RUNNING)), now, LIMIT);
      now = Objects.requireNonNull(plan.planAt());
      passes.add(Duration.between(NOON, now).toSeconds());
    }

    assertThat(passes).containsExactly(60L, 120L, 240L, 480L, 960L, 1_920L);
  }

  @Test
  void local_times_in_a_gap_are_recorded_with_the_time_that_fires() {
    Instant gap = at(20);
    NominalTime skippedOne =
        new NominalTime(
            gap, LocalDateTime.parse("2027-01-10T02:15:00"), NominalTime.Shift.GAP_SKIPPED);
    NominalTime skippedTwo =
        new NominalTime(
            gap, LocalDateTime.parse("2027-01-10T02:30:00"), NominalTime.Shift.GAP_SKIPPED);
    Timetable timetable = TestTimetable.of(skippedOne, skippedTwo, TestTimetable.time(gap));

    FirePlan plan =
        FirePlan.of(state(schedule(OverlapRule.ALLOW, LAST), timetable, at(0)), at(0), LIMIT);
    FirePlan waiting =
        FirePlan.of(
            state(
                schedule(OverlapRule.SKIP, LAST), timetable, at(0), live(at(0), TaskState.RUNNING)),
            at(0),
            LIMIT);

    assertThat(decisions(plan)).containsExactly("20 dstGap", "20 dstGap", "20 task");
    assertThat(waiting.decisions()).isEmpty();
    assertThat(waiting.planAt()).isEqualTo(gap);
  }

  @Test
  void jitter_is_below_its_bound_and_the_same_in_every_pass() {
    Schedule jittery = schedule(OverlapRule.ALLOW, LAST, Duration.ofMinutes(5), null, null, null);

    FirePlan one = FirePlan.of(state(jittery, MINUTES, at(0)), at(40), LIMIT);
    FirePlan other = FirePlan.of(state(jittery, MINUTES, at(0)), at(95), LIMIT);

    var create = (FirePlan.Decision.Create) one.decisions().getFirst();
    assertThat(other.decisions().getFirst()).isEqualTo(create);
    assertThat(create.dueAt()).isBetween(at(60), at(360).minusMillis(1));
    assertThat(create.task().partition()).isEqualTo(Partition.of(create.dueAt()));
  }
}
