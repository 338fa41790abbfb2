package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import carillon.model.schedule.FireHash;
import carillon.model.schedule.FirePlan;
import carillon.model.schedule.FireSettlement;
import carillon.model.schedule.SkipReason;
import carillon.model.task.TaskState;
import carillon.store.tasks.TaskCancels;
import carillon.store.tasks.TaskStory;
import carillon.testkit.TestSchedule;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PlannedTaskWithdrawalsTest {

  private World world;
  private DueSchedules dueSchedules;
  private Instant now;
  private long schedule;

  @BeforeEach
  void open() {
    world = World.create();
    dueSchedules = new DueSchedules(world.db, world.tasks);
    now = world.clock.instant().truncatedTo(ChronoUnit.SECONDS);
    schedule = TestSchedule.every("s", Duration.ofSeconds(10)).insert(world, now);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static NominalTime time(Instant at) {
    return new NominalTime(at, LocalDateTime.ofInstant(at, ZoneOffset.UTC), NominalTime.Shift.NONE);
  }

  /** Plans a task for each of these seconds from now, and a skip for the second after them. */
  private List<TaskId> plan(int... seconds) {
    List<FirePlan.Decision> planned = new ArrayList<>();
    List<TaskId> ids = new ArrayList<>();
    Instant last = now;
    for (int second : seconds) {
      last = now.plusSeconds(second);
      TaskId id = FireHash.taskId(schedule, 1, last, last);
      planned.add(new FirePlan.Decision.Create(time(last), id, last));
      ids.add(id);
    }
    Instant skipped = last.plusSeconds(1);
    planned.add(new FirePlan.Decision.Skip(time(skipped), SkipReason.DST_GAP));
    var plan = new FirePlan(planned, List.of(), skipped, skipped.plusSeconds(1), 0);
    dueSchedules.planUnderLock(
        now,
        10,
        due ->
            due.stream()
                .map(
                    each ->
                        new DueSchedules.Planned(
                            each,
                            FireSettlement.of(List.of(), 0, each.schedule().schedule()),
                            plan))
                .toList());
    return ids;
  }

  private int withdraw(Instant at) {
    return world.db.inTransaction(
        tx ->
            PlannedTaskWithdrawals.withdraw(
                tx, schedule, World.TENANT, at, new TaskCancels.Because("me", "it changed")));
  }

  private String row() {
    return world.value(
        "SELECT concat_ws(' ', extract(epoch FROM cursor - created_at)::int, generation, runs,"
            + " skipped_dst_gap, extract(epoch FROM plan_at - created_at)::int)"
            + " FROM carillon.schedule");
  }

  private String remainingFires() {
    return world.value("SELECT count(*) FROM carillon.schedule_fire");
  }

  @Test
  void tasks_that_are_not_due_are_withdrawn_and_the_cursor_is_rewound() {
    List<TaskId> ids = plan(10, 20);

    int withdrawn = withdraw(now);

    assertThat(withdrawn).isEqualTo(2);
    assertThat(ids).extracting(world::state).containsOnly(TaskState.CANCELLED);
    assertThat(remainingFires()).isEqualTo("0");
    assertThat(row()).isEqualTo("0 2 0 0 0");
    TaskStory story = world.tasks.story(World.TENANT, ids.getFirst()).orElseThrow();
    assertThat(story.transitions().getLast().by()).isEqualTo("me");
    assertThat(story.transitions().getLast().reason()).isEqualTo("it changed");
  }

  @Test
  void due_tasks_are_not_withdrawn() {
    List<TaskId> ids = plan(10, 20);

    withdraw(now.plusSeconds(10));

    assertThat(ids)
        .extracting(world::state)
        .containsExactly(TaskState.PENDING, TaskState.CANCELLED);
    assertThat(remainingFires()).isEqualTo("1");
    assertThat(row()).isEqualTo("10 2 1 0 10");
  }

  @Test
  void tasks_started_early_or_cancelled_by_a_user_keep_their_fire() {
    List<TaskId> ids = plan(10, 20, 30);
    world.sql(
        "UPDATE carillon.task SET ready_at = now() - interval '1 s' WHERE id = '"
            + ids.get(0)
            + "'");
    world.node("node");
    assertThat(world.claim("node", 1)).hasSize(1);
    world.cancel(ids.get(1));

    int withdrawn = withdraw(now);

    assertThat(withdrawn).isEqualTo(1);
    assertThat(ids)
        .extracting(world::state)
        .containsExactly(TaskState.RUNNING, TaskState.CANCELLED, TaskState.CANCELLED);
    assertThat(remainingFires()).isEqualTo("2");
    assertThat(row()).isEqualTo("0 2 2 0 0");
  }
}
