package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import carillon.model.TenantId;
import carillon.model.schedule.OverlapRule;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Outcome;
import carillon.model.task.TaskState;
import carillon.store.db.Page;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskView;
import carillon.testkit.ScheduleRows;
import carillon.testkit.World;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ScheduleTasksTest {

  private static final Instant TEN = Instant.parse("2025-10-01T10:00:00Z");

  private World world;
  private ScheduleRows scheduled;
  private long schedule;

  @BeforeEach
  void open() {
    world = World.create();
    scheduled = new ScheduleRows(world);
    schedule = scheduled.every("s", 1);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void backfill(int times) {
    var request = new Backfills.Request(TEN, TEN.plusSeconds(times - 1), OverlapRule.ALLOW, false);
    scheduled.backfill("s", request);
    for (List<UUID> open = world.store.backfillSteps().open(1);
        !open.isEmpty();
        open = world.store.backfillSteps().open(1)) {
      world.store.backfillSteps().take(open.getFirst());
    }
  }

  private static TaskFilter filter(@Nullable String type, @Nullable TaskState state) {
    return new TaskFilter(type, state, null, "s", null, null, null, Map.of());
  }

  private Page<TaskView, RecordedFire.Position> page(
      TaskFilter filter, int limit, RecordedFire.@Nullable Position before) {
    return world.store.schedules().tasks(World.TENANT, filter, limit, before, false).orElseThrow();
  }

  private List<Instant> all(TaskFilter filter, int limit) {
    List<Instant> all = new ArrayList<>();
    RecordedFire.Position position = null;
    do {
      Page<TaskView, RecordedFire.Position> page = page(filter, limit, position);
      assertThat(page.items()).hasSizeLessThanOrEqualTo(limit);
      page.items().forEach(task -> all.add(Objects.requireNonNull(task.fireAt())));
      position = page.next();
    } while (position != null);
    return all;
  }

  @Test
  void pages_list_all_tasks_of_a_schedule_once_latest_nominal_time_first() {
    world.discard();
    for (int second = 0; second < 1_200; second++) {
      scheduled.recordSkip(schedule, TEN.minusSeconds(1 + second).toString(), "PAUSED");
    }
    backfill(25);

    List<Instant> all = all(filter(null, null), 10);

    assertThat(all).hasSize(25).isSortedAccordingTo((a, b) -> b.compareTo(a)).endsWith(TEN);
    assertThat(all(filter(null, null), 25)).isEqualTo(all);
    assertThat(all(filter(null, null), 1_000)).isEqualTo(all);
  }

  @Test
  void tasks_are_filtered_by_status_and_type() {
    backfill(20);
    world.node("node");
    List<ClaimedTask> claimed = new ArrayList<>();
    while (claimed.size() < 3) {
      claimed.addAll(world.claim("node", 3 - claimed.size()));
    }
    world
        .store
        .outcomes()
        .finishAttempts(
            claimed.stream()
                .map(task -> new Attempted(task, new Outcome.Completed(null, null)))
                .toList(),
            Set.of(),
            "node");

    assertThat(all(filter("report", TaskState.COMPLETED), 2))
        .containsExactly(TEN.plusSeconds(2), TEN.plusSeconds(1), TEN);
    assertThat(all(filter(null, TaskState.PENDING), 2)).hasSize(17);
    assertThat(all(filter("other", null), 2)).isEmpty();
  }

  @Test
  void a_claimed_task_has_its_schedule_and_nominal_time() {
    backfill(1);
    world.discard();
    world.node("node");
    List<ClaimedTask> claimed = new ArrayList<>();
    while (claimed.size() < 2) {
      claimed.addAll(world.claim("node", 2));
    }

    assertThat(claimed)
        .extracting(ClaimedTask::scheduleName, ClaimedTask::fireAt)
        .containsExactlyInAnyOrder(tuple("s", TEN), tuple(null, null));
  }

  @Test
  void a_page_ends_early_if_few_fires_have_tasks() {
    world.sql(
        """
        INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, skipped)
        SELECT %d, at, at AT TIME ZONE 'UTC', 'NONE', 'SCHEDULED', 'PAUSED'
        FROM (SELECT '2025-11-01T00:00:00Z'::timestamptz + n * interval '1 s' AS at
              FROM generate_series(1, 15000) AS n) AS n
        """
            .formatted(schedule));
    backfill(1);

    Page<TaskView, RecordedFire.Position> first = page(filter(null, null), 10, null);

    assertThat(first.items()).isEmpty();
    assertThat(first.next()).isNotNull();
    assertThat(all(filter(null, null), 10)).containsExactly(TEN);
  }

  @Test
  void a_schedule_of_another_tenant_is_not_found() {
    assertThat(world.store.schedules().tasks(new TenantId(99), filter(null, null), 1, null, false))
        .isEmpty();
    world.sql("DELETE FROM carillon.schedule");
    assertThat(world.store.schedules().tasks(World.TENANT, filter(null, null), 1, null, false))
        .isEmpty();
  }
}
