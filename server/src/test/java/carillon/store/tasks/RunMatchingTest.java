package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.TaskState;
import carillon.store.catalog.Tenant;
import carillon.store.catalog.Tenants;
import carillon.store.db.Tx;
import carillon.store.queue.Agenda;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RunMatchingTest {

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
  }

  @AfterEach
  void close() {
    world.close();
  }

  private TaskId create(String type, @Nullable String key, Duration ahead, String colour) {
    return world.create(
        TestTask.of(type)
            .key(key)
            .dueAt(world.clock.instant().plus(ahead))
            .target(new Target.Discard())
            .metadata(Map.of("colour", colour))
            .build());
  }

  private static TaskFilter filter(
      @Nullable String type, @Nullable String key, Map<String, String> metadata) {
    return new TaskFilter(type, null, key, null, null, null, null, metadata);
  }

  private int run(TenantId tenant, TaskFilter filter) {
    return world
        .db
        .inTransaction(tx -> world.tasks.runMatching(tx, tenant, filter, null, "test"))
        .tasks();
  }

  private int run(TaskFilter filter) {
    return run(World.TENANT, filter);
  }

  private Tasks.Count runnable(TaskFilter filter) {
    return world.db.inTransaction(tx -> world.tasks.countRunnable(tx, World.TENANT, filter));
  }

  private Tasks.Count cancellable(TaskFilter filter) {
    return world.db.inTransaction(tx -> world.tasks.countCancellable(tx, World.TENANT, filter));
  }

  @Test
  void matching_tasks_of_any_day_become_due_now() {
    TaskId near = create("a", "k", Duration.ofHours(1), "red");
    TaskId far = create("a", "k", Duration.ofDays(7), "red");
    TaskId otherKey = create("a", "other", Duration.ofDays(7), "red");
    TaskId otherType = create("b", "k", Duration.ofDays(7), "red");

    assertThat(runnable(filter("a", "k", Map.of()))).isEqualTo(new Tasks.Count(2, false));
    assertThat(run(filter("a", "k", Map.of()))).isEqualTo(2);

    assertThat(world.claim("node", 10))
        .extracting(task -> task.id())
        .containsExactlyInAnyOrder(near, far);
    assertThat(world.state(otherKey)).isEqualTo(TaskState.PENDING);
    assertThat(world.state(otherType)).isEqualTo(TaskState.PENDING);
    assertThat(world.find(far).version()).isGreaterThan(1);
    assertThat(world.find(far).dueAt()).isBefore(world.clock.instant().plusSeconds(1));
  }

  @Test
  void a_bulk_run_filters_by_type_and_metadata() {
    TaskId red = create("a", null, Duration.ofHours(1), "red");
    TaskId blue = create("a", null, Duration.ofDays(2), "blue");
    TaskId other = create("b", null, Duration.ofDays(2), "blue");

    assertThat(run(filter("a", null, Map.of("colour", "blue")))).isEqualTo(1);
    assertThat(world.claim("node", 10)).extracting(task -> task.id()).containsExactly(blue);

    assertThat(run(filter(null, null, Map.of("colour", "blue")))).isEqualTo(1);
    assertThat(world.claim("node", 10)).extracting(task -> task.id()).containsExactly(other);
    assertThat(world.state(red)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void a_bulk_run_updates_the_agenda() {
    TaskId far = create("a", null, Duration.ofDays(7), "red");

    run(filter("a", null, Map.of()));

    assertThat(world.agenda.takeDue(world.clock.instant().plusSeconds(1), _ -> true))
        .extracting(Agenda.Entry::partition)
        .contains(far.partition());
  }

  @Test
  void a_bulk_run_leaves_due_and_ended_tasks_unchanged() {
    TaskId due = create("a", null, Duration.ZERO, "red");
    TaskId cancelled = create("a", null, Duration.ofHours(1), "red");
    world.cancel(cancelled);
    Instant readyAt = world.find(due).readyAt();

    assertThat(runnable(filter("a", null, Map.of())).matched()).isZero();
    assertThat(run(filter("a", null, Map.of()))).isZero();

    assertThat(world.find(due).readyAt()).isEqualTo(readyAt);
    assertThat(world.state(cancelled)).isEqualTo(TaskState.CANCELLED);
  }

  @Test
  void a_bulk_change_never_crosses_tenants() {
    TaskId mine = create("a", "k", Duration.ofHours(1), "red");
    Tenant other = world.store.tenants().put("other", Tenants.Settings.DEFAULT, "test");

    assertThat(run(other.id(), filter("a", null, Map.of()))).isZero();
    assertThat(run(other.id(), filter("a", "k", Map.of()))).isZero();

    assertThat(world.find(mine).version()).isEqualTo(1);
  }

  @Test
  void a_dry_run_of_a_cancel_counts_waiting_and_running_tasks() {
    TaskId running = create("a", "k", Duration.ZERO, "red");
    world.claimOne("node");
    TaskId waiting = create("a", "k", Duration.ofDays(3), "red");
    create("a", "other", Duration.ofDays(3), "blue");

    assertThat(cancellable(filter("a", null, Map.of()))).isEqualTo(new Tasks.Count(3, false));
    assertThat(cancellable(filter("a", "k", Map.of())).matched()).isEqualTo(2);
    assertThat(cancellable(filter(null, null, Map.of("colour", "blue"))).matched()).isEqualTo(1);
    for (TaskState state : new TaskState[] {TaskState.PENDING, TaskState.RUNNING}) {
      TaskFilter some = new TaskFilter("a", state, "k", null, null, null, null, Map.of());
      assertThat(cancellable(some).matched()).as("%s", state).isEqualTo(1);
    }

    assertThat(world.find(running).cancelRequested()).isFalse();
    assertThat(world.find(waiting).version()).isEqualTo(1);
    world.cancel(running);
    assertThat(cancellable(filter("a", null, Map.of())).matched()).isEqualTo(2);
  }

  static Stream<WaitingScan.Bounds> bounds() {
    return Stream.of(
        new WaitingScan.Bounds(5, 10, Duration.ofMinutes(1)),
        new WaitingScan.Bounds(5, 1_000, Duration.ZERO),
        new WaitingScan.Bounds(1_000, 1, Duration.ofMinutes(1)),
        WaitingScan.Bounds.USUAL);
  }

  @ParameterizedTest
  @MethodSource("bounds")
  void few_matches_among_many_tasks_are_found_over_several_calls(WaitingScan.Bounds bounds) {
    List<TaskId> blue = new ArrayList<>();
    List<TaskId> red = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      for (String type : List.of("a", "b")) {
        Duration ahead = Duration.ofDays(1 + i % 3).plusMinutes(i);
        (i % 10 == 9 ? blue : red).add(create(type, null, ahead, i % 10 == 9 ? "blue" : "red"));
      }
    }
    TaskId duplicated = red.getFirst();
    world.sql(
        """
        INSERT INTO carillon.task (tenant, id, partition, lane, ready_at, due_at, created_at)
        SELECT t.tenant, (substr(t.id::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, t.partition, t.lane, t.ready_at,
               t.due_at, t.created_at
        FROM carillon.task t, generate_series(1, 40) AS n
        WHERE t.id = '%s'
        """
            .formatted(duplicated));
    MatchingTasks matching = new MatchingTasks(world.clock, world.agenda, bounds);
    TaskFilter blueTasks = filter(null, null, Map.of("colour", "blue"));

    int run = changeAll((tx, from) -> matching.run(tx, World.TENANT, blueTasks, from, "test"));
    assertThat(run).isEqualTo(blue.size());
    assertThat(world.claim("node", 100))
        .extracting(task -> task.id())
        .containsExactlyInAnyOrderElementsOf(blue);

    TaskFilter redTasks = filter(null, null, Map.of("colour", "red"));
    int cancelled =
        changeAll((tx, from) -> matching.cancel(tx, World.TENANT, redTasks, from, "test"));
    assertThat(cancelled).isEqualTo(red.size());
    assertThat(red).allMatch(id -> world.state(id) == TaskState.CANCELLED);
  }

  private interface Bulk {
    BulkResult change(Tx tx, BulkResult.@Nullable Place from);
  }

  private int changeAll(Bulk bulk) {
    int total = 0;
    BulkResult.Place from = null;
    BulkResult result;
    int calls = 0;
    do {
      BulkResult.Place place = from;
      result = world.db.inTransaction(tx -> bulk.change(tx, place));
      total += result.tasks();
      from = result.next();
      assertThat(calls++).as("calls, the last from %s", from).isLessThan(200);
    } while (result.hasMore());
    return total;
  }

  @Test
  void a_count_over_the_limit_is_reported_as_a_lower_bound() {
    create("a", null, Duration.ofHours(1), "red");
    world.sql("UPDATE carillon.task SET error = 'boom'");
    world.sql(
        """
        INSERT INTO carillon.task (tenant, id, partition, lane, ready_at, due_at, created_at, error)
        SELECT t.tenant, (substr(t.id::text, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid, t.partition, t.lane, t.ready_at,
               t.due_at, t.created_at, t.error
        FROM carillon.task t, generate_series(1, 100000) AS n
        """);

    assertThat(runnable(filter("a", null, Map.of()))).isEqualTo(new Tasks.Count(100_000, true));
    assertThat(runnable(filter(null, null, Map.of("colour", "red"))).isAtLeast()).isTrue();
    TaskFilter text = new TaskFilter("a", null, null, null, null, null, "boom", Map.of());
    assertThat(runnable(text))
        .as("a text search, which reads fewer rows")
        .isEqualTo(new Tasks.Count(20_000, true));
    // With the usual timeout, a slow machine would run fewer tasks.
    var longTimeout = new WaitingScan.Bounds(5_000, 200_000, Duration.ofMinutes(1));
    var matching = new MatchingTasks(world.clock, world.agenda, longTimeout);
    TaskFilter all = filter("a", null, Map.of());
    BulkResult first =
        world.db.inTransaction(tx -> matching.run(tx, World.TENANT, all, null, "test"));
    assertThat(first.tasks()).isEqualTo(Tasks.MAX_AT_ONCE);
    assertThat(runnable(filter("a", null, Map.of()))).isEqualTo(new Tasks.Count(50_001, false));
  }
}
