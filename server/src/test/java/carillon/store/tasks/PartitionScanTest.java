package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.TaskState;
import carillon.store.db.Page;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Lists tasks among thirty past partitions of 1,000 tasks each and 30,000 tasks due next week. */
@Tag("slow")
class PartitionScanTest {

  private static final int DAYS = 30;
  private static final int TASKS_PER_DAY = 1_000;
  private static final int NEXT_WEEK = 30_000;

  private static World world;

  @BeforeAll
  static void fill() {
    world = World.create();
    world.create(World.task("t", new Target.Pull()));
    for (int day = 1; day <= DAYS; day++) {
      fill(
          Partition.of(world.clock.instant().minus(Duration.ofDays(day))),
          TASKS_PER_DAY,
          "COMPLETED");
    }
    fill(Partition.of(nextWeek()), NEXT_WEEK, "PENDING");
  }

  private static Instant nextWeek() {
    return world.clock.instant().plus(Duration.ofDays(7));
  }

  /** Inserts tasks, every hundredth with an error. */
  private static void fill(Partition partition, int tasks, String state) {
    world.partitions.ensure(partition);
    world.sql(
        """
        INSERT INTO carillon.task (tenant, id, partition, lane, state, ready_at, due_at, created_at, error)
        SELECT 1,
               (lpad(to_hex((extract(epoch FROM due_at) * 1000)::bigint), 12, '0') || '70008000'
                   || lpad(n::text, 12, '0'))::uuid,
               DATE '%1$s', (SELECT min(id) FROM carillon.lane), '%2$s'::carillon.task_state,
               CASE '%2$s' WHEN 'PENDING' THEN due_at END, due_at, due_at, CASE WHEN n %% 100 = 0 THEN 'a rare one' END
        FROM (
            SELECT n, '%1$s 01:00:00+00'::timestamptz + n * interval '1 s' AS due_at
            FROM generate_series(1, %3$d) AS n
        ) n
        """
            .formatted(partition.day(), state, tasks));
  }

  @AfterAll
  static void close() {
    world.close();
  }

  private record Listed(List<TaskId> tasks, int pages) {}

  private static Listed listAll(TaskFilter filter, int limit) {
    List<TaskId> ids = new ArrayList<>();
    TaskId before = null;
    int pages = 0;
    do {
      Page<TaskView, TaskId> page = world.tasks.list(World.TENANT, filter, limit, before, false);
      page.items().forEach(task -> ids.add(task.id()));
      before = page.next();
      pages++;
    } while (before != null);
    return new Listed(ids, pages);
  }

  private static TaskFilter filter(
      @Nullable TaskState state, @Nullable Instant dueBefore, @Nullable String error) {
    return new TaskFilter(null, state, null, null, null, dueBefore, error, Map.of());
  }

  @Test
  void the_row_limit_of_a_page_applies_across_partitions() {
    Listed listed = listAll(filter(null, null, "none of them"), 10);

    assertThat(listed.tasks()).isEmpty();
    assertThat(listed.pages()).isGreaterThanOrEqualTo(3); // 20,000 rows, 20,000 rows and the rest
  }

  @Test
  void every_match_is_listed_once_for_any_page_size() {
    int matches = (DAYS * TASKS_PER_DAY + NEXT_WEEK) / 100;
    for (int limit : List.of(9, 10, 1_000)) {
      assertThat(listAll(filter(null, null, "a rare one"), limit).tasks())
          .as("limit %d", limit)
          .hasSize(matches)
          .isSortedAccordingTo((a, b) -> b.toString().compareTo(a.toString()))
          .doesNotHaveDuplicates();
    }
  }

  @Test
  void pages_make_progress_even_if_every_query_is_slow() {
    TaskReader reader = new TaskReader(world.db, world.catalog);
    TaskFilter rare = filter(null, null, "a rare one");
    AtomicLong now = new AtomicLong();
    List<TaskId> ids = new ArrayList<>();
    Set<TaskId> cursors = new HashSet<>();
    TaskId before = null;
    do {
      TaskId from = before;
      Page<TaskView, TaskId> page =
          world.db.inTransaction(
              tx ->
                  new PartitionScan(
                          tx,
                          reader,
                          World.TENANT,
                          rare,
                          false,
                          () -> now.addAndGet(Duration.ofSeconds(1).toNanos()))
                      .page(100, from));
      page.items().forEach(task -> ids.add(task.id()));
      before = page.next();
    } while (before != null && cursors.add(before));

    assertThat(before).as("a repeated cursor").isNull();
    assertThat(ids).hasSize((DAYS * TASKS_PER_DAY + NEXT_WEEK) / 100).doesNotHaveDuplicates();
  }

  @Test
  void a_search_for_completed_tasks_skips_future_partitions() {
    var page =
        world.tasks.list(World.TENANT, filter(TaskState.COMPLETED, null, null), 10, null, false);

    assertThat(page.items()).hasSize(10).allMatch(task -> task.state() == TaskState.COMPLETED);
  }

  @Test
  void a_search_by_due_time_skips_later_partitions() {
    Instant now = world.clock.instant();

    var page = world.tasks.list(World.TENANT, filter(null, now, "rare"), 10, null, false);

    assertThat(page.items()).hasSize(10).allMatch(task -> task.dueAt().isBefore(now));
  }

  @Test
  void a_task_run_before_its_day_is_found_in_its_partition() {
    TaskId id =
        world.create(World.task("early", new Target.Pull(), nextWeek().plus(Duration.ofDays(1))));
    world.db.inTransaction(tx -> world.tasks.runNow(tx, World.TENANT, id, "test", null));
    Instant now = world.clock.instant().plusSeconds(1);

    assertThat(world.tasks.list(World.TENANT, filter(null, now, null), 1, null, false).items())
        .extracting(TaskView::id)
        .containsExactly(id);

    world.sql(
        "UPDATE carillon.task SET state = 'COMPLETED', ready_at = NULL WHERE id = '" + id + "'");
    var completed = filter(TaskState.COMPLETED, null, null);
    assertThat(world.tasks.list(World.TENANT, completed, 1, null, false).items())
        .extracting(TaskView::id)
        .containsExactly(id);
    world.sql("DELETE FROM carillon.task WHERE id = '" + id + "'");
  }
}
