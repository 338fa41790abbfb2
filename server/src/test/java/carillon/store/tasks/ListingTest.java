package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.model.task.TaskState;
import carillon.store.db.Page;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ListingTest {

  private static final Failure FAILED = Failure.of(FailureKind.WORKER, "failed");

  static World world;
  static final List<TaskId> ALL = new ArrayList<>();

  @BeforeAll
  static void fill() {
    world = World.create();
    Instant start = world.clock.instant().plusSeconds(60);
    for (int i = 0; i < 60; i++) {
      NewTask task =
          TestTask.of(i % 2 == 0 ? "even" : "odd")
              .key(i % 10 == 0 ? "ten" : null)
              .dueAt(start.plus(Duration.ofHours(i)))
              .payload("{\"n\":" + i + "}")
              .target(new Target.Pull())
              .metadata(Map.of("n", "" + i % 3))
              .build();
      ALL.add(world.create(task));
    }
    ALL.sort(Comparator.comparing(TaskId::toString).reversed());
    world.cancel(ALL.get(5));
  }

  @AfterAll
  static void close() {
    world.close();
  }

  private static List<TaskId> listAll(TaskFilter filter, int limit) {
    List<TaskId> ids = new ArrayList<>();
    TaskId before = null;
    do {
      Page<TaskView, TaskId> page = world.tasks.list(World.TENANT, filter, limit, before, false);
      page.items().forEach(task -> ids.add(task.id()));
      before = page.next();
    } while (before != null);
    return ids;
  }

  private static TaskFilter filter(
      @Nullable String type, @Nullable TaskState state, @Nullable String key) {
    return new TaskFilter(type, state, key, null, null, null, null, Map.of());
  }

  @Test
  void pages_of_any_size_list_every_task_once_latest_first() {
    for (int limit : List.of(1, 7, 59, 60, 1_000)) {
      assertThat(listAll(TaskFilter.ALL, limit)).as("limit %d", limit).isEqualTo(ALL);
    }
  }

  @Test
  void filters_select_tasks() {
    assertThat(listAll(filter("even", null, null), 4)).hasSize(30);
    assertThat(listAll(filter(null, TaskState.CANCELLED, null), 4)).containsExactly(ALL.get(5));
    assertThat(listAll(filter(null, null, "ten"), 4)).hasSize(6);
    assertThat(listAll(filter("odd", null, "ten"), 4)).isEmpty();
    assertThat(
            listAll(new TaskFilter(null, null, null, null, null, null, null, Map.of("n", "2")), 9))
        .hasSize(20);
  }

  @Test
  void payloads_are_omitted_by_default() {
    assertThat(
            world
                .tasks
                .list(World.TENANT, TaskFilter.ALL, 1, null, false)
                .items()
                .getFirst()
                .spec()
                .payload())
        .isNull();
    assertThat(
            world
                .tasks
                .list(World.TENANT, TaskFilter.ALL, 1, null, true)
                .items()
                .getFirst()
                .spec()
                .payload())
        .isEqualTo("{\"n\":59}");
  }

  @Test
  void a_page_with_few_matches_ends_early_with_a_cursor() {
    try (World crowded = World.create()) {
      crowded.create(World.task("t", new Target.Pull()));
      crowded.sql(
          """
          INSERT INTO carillon.task (tenant, id, partition, lane, ready_at, due_at, created_at)
          SELECT t.tenant, (substr(t.id::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, t.partition, t.lane, t.ready_at, t.due_at, t.created_at
          FROM carillon.task t, generate_series(1, 45000) AS n
          """);

      int pages = 0;
      TaskId before = null;
      do {
        Page<TaskView, TaskId> page =
            crowded.tasks.list(World.TENANT, filter(null, TaskState.DEAD, null), 10, before, false);
        assertThat(page.items()).isEmpty();
        before = page.next();
        pages++;
      } while (before != null);

      assertThat(pages).isGreaterThanOrEqualTo(3); // more on a slow machine
    }
  }

  @Test
  void the_next_page_starts_after_the_last_match() {
    try (World crowded = World.create()) {
      crowded.create(World.task("t", new Target.Pull()));
      crowded.sql(
          """
          INSERT INTO carillon.task (tenant, id, partition, lane, state, ready_at, due_at, created_at)
          SELECT t.tenant, (substr(t.id::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, t.partition, t.lane,
                 CASE WHEN n % 10000 = 1 THEN 'DEAD' ELSE 'COMPLETED' END::carillon.task_state, NULL, t.due_at, t.created_at
          FROM carillon.task t, generate_series(1, 60000) AS n
          """);

      int found = 0;
      TaskId before = null;
      do {
        Page<TaskView, TaskId> page =
            crowded.tasks.list(World.TENANT, filter(null, TaskState.DEAD, null), 10, before, false);
        found += page.items().size();
        before = page.next();
      } while (before != null);

      assertThat(found).isEqualTo(6);
    }
  }

  @Test
  void running_tasks_are_listed_through_their_claims() {
    try (World busy = World.create()) {
      busy.node("node");
      List<TaskId> running = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        busy.create(World.task(i % 2 == 0 ? "even" : "odd", new Target.Discard()));
        running.add(busy.claimOne("node").id());
      }
      running.sort(Comparator.comparing(TaskId::toString).reversed());
      busy.create(World.task("even", new Target.Pull(), busy.clock.instant().plusSeconds(3600)));
      // A claim's row can also list tasks whose attempt under it has ended, and which another claim
      // holds by now.
      busy.sql(
          """
          UPDATE carillon.claim c
          SET tenants = n.tenants, tasks = n.tasks, fences = n.fences
          FROM (SELECT array_agg(t.tenant) AS tenants, array_agg(t.id) AS tasks,
                       array_agg(CASE WHEN t.id = '%1$s' THEN 1 ELSE 0 END) AS fences
                FROM carillon.task t) n
          WHERE c.id = (SELECT t.claim FROM carillon.every_task t WHERE t.id = '%1$s')
          """
              .formatted(running.getFirst()));

      for (int limit : List.of(1, 2, 5, 100)) {
        List<TaskId> ids = new ArrayList<>();
        TaskId before = null;
        do {
          Page<TaskView, TaskId> page =
              busy.tasks.list(
                  World.TENANT, filter(null, TaskState.RUNNING, null), limit, before, false);
          page.items().forEach(task -> ids.add(task.id()));
          before = page.next();
        } while (before != null);
        assertThat(ids).as("limit %d", limit).isEqualTo(running);
      }
      assertThat(
              busy.tasks
                  .list(World.TENANT, filter("odd", TaskState.RUNNING, null), 10, null, true)
                  .items())
          .hasSize(2)
          .allMatch(task -> task.spec().payload() != null);
    }
  }

  @Test
  void a_task_is_the_same_in_every_list_as_when_it_is_read_by_its_id() {
    try (World some = World.create()) {
      some.node("node");
      TaskId retried = some.create(World.task("t", new Target.Discard()));
      end(some, some.claimOne("node"), new Outcome.RetryAt(some.clock.instant(), FAILED));
      TaskId running = some.claimOne("node").id();
      assertThat(running).isEqualTo(retried);
      TaskId completed = some.create(World.task("t", new Target.Discard()));
      end(some, some.claimOne("node"), new Outcome.Completed(null, null));
      Instant later = some.clock.instant().plusSeconds(3600);
      TaskId waiting = some.create(World.task("t", new Target.Pull(), later));

      assertThat(some.tasks.list(World.TENANT, TaskFilter.ALL, 10, null, true).items())
          .containsExactlyInAnyOrder(some.find(running), some.find(completed), some.find(waiting));
      assertThat(
              some.tasks
                  .list(World.TENANT, filter(null, TaskState.RUNNING, null), 10, null, true)
                  .items())
          .containsExactly(some.find(running));
      assertThat(some.find(running).state()).isEqualTo(TaskState.RUNNING);
      assertThat(some.find(running).attempt()).isEqualTo(2);
    }
  }

  private static void end(World some, ClaimedTask task, Outcome outcome) {
    some.store.outcomes().finishAttempts(List.of(new Attempted(task, outcome)), Set.of(), "node");
  }

  @Test
  void a_task_run_before_its_day_is_listed_as_completed() {
    try (World early = World.create()) {
      early.node("node");
      Instant nextWeek = early.clock.instant().plus(Duration.ofDays(7));
      TaskId waiting = early.create(World.task("t", new Target.Discard(), nextWeek));
      assertThat(completed(early)).isEmpty();

      early.db.inTransaction(tx -> early.tasks.runNow(tx, World.TENANT, waiting, "test", null));
      early
          .store
          .outcomes()
          .finishAttempts(
              List.of(new Attempted(early.claimOne("node"), new Outcome.Completed(null, null))),
              Set.of(),
              "node");

      assertThat(completed(early)).containsExactly(waiting);
    }
  }

  private static List<TaskId> completed(World world) {
    return world
        .tasks
        .list(World.TENANT, filter(null, TaskState.COMPLETED, null), 10, null, false)
        .items()
        .stream()
        .map(TaskView::id)
        .toList();
  }
}
