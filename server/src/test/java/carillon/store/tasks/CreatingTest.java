package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.AlertSetting;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import carillon.store.catalog.Replies;
import carillon.store.catalog.Tenant;
import carillon.store.catalog.Tenants;
import carillon.store.catalog.Types;
import carillon.store.db.StoreException;
import carillon.store.tasks.Tasks.CreateResult;
import carillon.testkit.TestSchedule;
import carillon.testkit.TestTask;
import carillon.testkit.TestTypeSettings;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class CreatingTest {

  static World world;
  static World other;

  @BeforeAll
  static void open() {
    world = World.create();
    other = world.anotherProcess();
  }

  @AfterAll
  static void close() {
    other.close();
    world.close();
  }

  private static NewTask keyed(String type, String key, @Nullable Duration uniqueFor) {
    return TestTask.of(type).key(key).target(new Target.Pull()).uniqueFor(uniqueFor).build();
  }

  /** Runs the calls concurrently, half of them as another process. */
  private static <T> List<T> race(int callers, Callable<T> here, Callable<T> there)
      throws InterruptedException, ExecutionException {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<T>> futures = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        futures.add(threads.submit(i % 2 == 0 ? here : there));
      }
      List<T> results = new ArrayList<>();
      for (Future<T> future : futures) {
        results.add(future.get());
      }
      return results;
    }
  }

  private static TaskId createUnique(World in, String type) {
    CreateResult result =
        in.db.inTransaction(
            tx -> in.tasks.create(tx, World.TENANT, keyed(type, "k", Duration.ofHours(1))));
    return switch (result) {
      case CreateResult.Created(var task) -> task.id();
      case CreateResult.Existing(var task) -> task.id();
      case CreateResult.UnknownType(var unknown) -> throw new AssertionError(unknown);
    };
  }

  @Test
  void concurrent_creates_of_a_unique_task_return_the_same_task() throws Exception {
    Set<TaskId> ids =
        new HashSet<>(
            race(60, () -> createUnique(world, "unique"), () -> createUnique(other, "unique")));

    assertThat(ids).hasSize(1);
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE key = 'k'")).isEqualTo("1");
  }

  @Test
  void a_live_task_with_the_same_key_is_returned_even_if_it_is_not_unique() {
    TaskId first = world.create(keyed("plain", "p", null));

    CreateResult second =
        world.db.inTransaction(
            tx -> world.tasks.create(tx, World.TENANT, keyed("plain", "p", Duration.ofMillis(1))));

    assertThat(second)
        .isInstanceOfSatisfying(
            CreateResult.Existing.class, e -> assertThat(e.task().id()).isEqualTo(first));
  }

  @Test
  void a_unique_task_can_be_created_again_after_its_window_and_its_end() {
    NewTask task = keyed("again", "a", Duration.ZERO);
    TaskView first =
        created(world.db.inTransaction(tx -> world.tasks.create(tx, World.TENANT, task)));
    world.cancel(first.id());

    TaskView second =
        created(world.db.inTransaction(tx -> world.tasks.create(tx, World.TENANT, task)));

    assertThat(second.id()).isNotEqualTo(first.id());
  }

  private static TaskView created(CreateResult result) {
    return ((CreateResult.Created) result).task();
  }

  @Test
  void one_idempotency_key_runs_the_work_once_across_nodes() throws Exception {
    AtomicInteger done = new AtomicInteger();
    Callable<Replies.Result> here = () -> once(world, "key-1", 1, done);
    Callable<Replies.Result> there = () -> once(other, "key-1", 1, done);

    List<Replies.Result> results = race(40, here, there);

    assertThat(results).allMatch(result -> result instanceof Replies.Result.Answered);
    assertThat(results.stream().filter(r -> !((Replies.Result.Answered) r).repeated())).hasSize(1);
    assertThat(results.stream().map(r -> ((Replies.Result.Answered) r).reply().body()).distinct())
        .hasSize(1);
  }

  private static Replies.Result once(World in, String key, int fingerprint, AtomicInteger done) {
    return in.store
        .replies()
        .once(
            World.TENANT,
            key,
            new byte[] {(byte) fingerprint},
            _ -> Optional.of(new Replies.Reply(202, "/here", "body " + done.incrementAndGet())));
  }

  @Test
  void an_idempotency_key_of_another_request_is_a_mismatch() {
    AtomicInteger done = new AtomicInteger();
    once(world, "key-2", 1, done);

    assertThat(once(world, "key-2", 2, done)).isEqualTo(new Replies.Result.Mismatch());
    assertThat(done).hasValue(1);
  }

  @Test
  void an_error_response_is_not_stored_and_its_work_is_rolled_back() {
    Replies.Result response =
        world
            .store
            .replies()
            .once(
                World.TENANT,
                "key-3",
                new byte[] {1},
                tx -> {
                  world.tasks.create(tx, World.TENANT, keyed("rolled-back", "r", null));
                  return Optional.of(new Replies.Reply(409, null, "no"));
                });

    assertThat(response).isInstanceOf(Replies.Result.Answered.class);
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE key = 'r'")).isEqualTo("0");
    assertThat(world.value("SELECT count(*) FROM carillon.reply WHERE key = 'key-3'"))
        .isEqualTo("0");
  }

  @Test
  void a_batch_returns_its_ids_in_order() {
    Instant due = world.clock.instant().plusSeconds(600);
    List<NewTask> tasks =
        IntStream.range(0, 5_000)
            .mapToObj(i -> World.task("batch", new Target.Discard(), due.plusSeconds(i * 100L)))
            .toList();

    var result =
        (Tasks.BatchResult.Created)
            world.db.inTransaction(tx -> world.tasks.createAll(tx, World.TENANT, tasks));

    assertThat(result.ids()).hasSize(5_000).doesNotHaveDuplicates();
    assertThat(result.ids().stream().map(TaskId::toString)).isSorted();
    assertThat(world.find(result.ids().get(4_321)).dueAt())
        .isEqualTo(due.plusSeconds(432_100).truncatedTo(ChronoUnit.MICROS));
  }

  @Test
  void a_copied_task_reads_back_like_an_inserted_one() {
    Instant now = world.clock.instant().truncatedTo(ChronoUnit.MICROS);
    NewTask full =
        TestTask.of("full")
            .key("schlüssel")
            .dueAt(now.plusSeconds(60))
            .priority(3)
            .payload("{\"price\": 1.0, \"for\": \"Ω 😀\"}")
            .target(
                new Target.Http(
                    "https://example.com/",
                    "PUT",
                    Map.of("X-Name", "ä"),
                    "body",
                    Duration.ofSeconds(7)))
            .retry(
                new RetryPolicy(
                    4,
                    Duration.ofHours(1),
                    RetryPolicy.Backoff.LINEAR,
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(9),
                    RetryPolicy.Jitter.NONE))
            .expiresAt(now.plusSeconds(3_600))
            .concurrencyKey("one at a time")
            .metadata(Map.of("team", "blå"))
            .build();
    NewTask bare = World.task("bare", null, now.plusSeconds(60));
    List<NewTask> batch =
        IntStream.range(0, 1_000).mapToObj(i -> i % 2 == 0 ? full : bare).toList();

    var copied =
        (Tasks.BatchResult.Created)
            world.db.inTransaction(tx -> world.tasks.createAll(tx, World.TENANT, batch));

    for (int i = 0; i < 2; i++) {
      assertThat(world.find(copied.ids().get(i)))
          .usingRecursiveComparison()
          .ignoringFields("id", "readyAt", "createdAt")
          .isEqualTo(world.find(world.create(batch.get(i))));
    }
  }

  @Test
  void a_failed_batch_leaves_no_tasks_and_a_usable_connection() {
    List<NewTask> batch = new ArrayList<>(Collections.nCopies(999, keyed("bad", "good", null)));
    batch.add(keyed("bad", "invalid character: \0", null));

    assertThatThrownBy(
            () -> world.db.inTransaction(tx -> world.tasks.createAll(tx, World.TENANT, batch)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("TaskInserts.copyTasks");

    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE key = 'good'")).isEqualTo("0");
    assertThat(world.create(keyed("bad", "better", null))).isNotNull();
  }

  @Test
  void a_due_time_in_the_past_means_now() {
    Instant before = world.clock.instant();

    TaskId id =
        world.create(
            World.task("past", new Target.Discard(), Instant.parse("2001-01-01T00:00:00Z")));

    assertThat(world.find(id).dueAt()).isBetween(before.minusMillis(1), world.clock.instant());
  }

  @Test
  void a_strict_tenant_rejects_unknown_types() {
    Tenant strict =
        world
            .store
            .tenants()
            .put(
                "strict",
                new Tenants.Settings(true, false, 1, new AlertSetting.Inherited(), null),
                "test");

    assertThat(world.tasks.create(strict.id(), World.task("nobody-knows", null)))
        .isEqualTo(new CreateResult.UnknownType("nobody-knows"));
    world.store.types().put(strict.id(), "known", TestTypeSettings.DEFAULT, "test", null);
    assertThat(world.tasks.create(strict.id(), World.task("known", null)))
        .isInstanceOf(CreateResult.Created.class);
  }

  @Test
  void a_task_is_invisible_to_other_tenants() {
    Tenant stranger = world.store.tenants().put("stranger", Tenants.Settings.DEFAULT, "test");
    TaskId id = world.create(World.task("mine", new Target.Pull()));

    assertThat(world.tasks.find(stranger.id(), id)).isEmpty();
    assertThat(
            world.db.<ChangeResult>inTransaction(
                tx -> world.tasks.cancel(tx, stranger.id(), id, "x", null)))
        .isEqualTo(new ChangeResult.NotFound());
    assertThat(world.tasks.list(stranger.id(), TaskFilter.ALL, 10, null, false).items()).isEmpty();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void using_a_deleted_type_creates_it_again() {
    TaskId id = world.create(World.task("phoenix", new Target.Pull()));
    world.cancel(id);
    assertThat(world.store.types().delete(World.TENANT, "phoenix", "test", null))
        .isEqualTo(new Types.Result.Deleted());

    world.create(World.task("phoenix", new Target.Pull()));

    assertThat(world.store.types().find(World.TENANT, "phoenix")).isPresent();
    assertThat(world.store.types().delete(World.TENANT, "phoenix", "test", null))
        .isEqualTo(new Types.Result.LiveTasks());
  }

  @Test
  void a_type_used_by_a_schedule_cannot_be_deleted() {
    world.cancel(world.create(World.task("named", new Target.Pull())));
    TestSchedule.every("nightly", Duration.ofHours(1))
        .with("type", "named")
        .insert(world, world.clock.instant());

    assertThat(world.store.types().delete(World.TENANT, "named", "test", null))
        .isEqualTo(new Types.Result.NamedBySchedule("nightly"));
    world.sql("DELETE FROM carillon.schedule WHERE name = 'nightly'");
    assertThat(world.store.types().delete(World.TENANT, "named", "test", null))
        .isEqualTo(new Types.Result.Deleted());
  }

  @Test
  void creating_a_lane_does_not_hide_changes_of_another_node() {
    world.catalog.refresh();
    other.store.tenants().put("elsewhere", Tenants.Settings.DEFAULT, "test");

    TaskId id = world.create(World.task("a-new-lane", new Target.Pull()));

    assertThat(world.catalog.lane(world.find(id).lane().id()).type()).isEqualTo("a-new-lane");
    world.catalog.refresh();
    assertThat(world.store.tenants().find("elsewhere")).isPresent();
    assertThat(world.store.types().find(World.TENANT, "a-new-lane")).isPresent();
  }
}
