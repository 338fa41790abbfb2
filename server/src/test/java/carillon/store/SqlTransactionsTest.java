package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.store.queue.WorkQueue;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.UniqueTasks;
import carillon.testkit.Overlapping;
import carillon.testkit.SqlUser;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Transactions of SQL users that stay open, fail or race do not harm anyone else. */
@Timeout(60)
@Tag("slow")
class SqlTransactionsTest {

  private World world;
  private SqlUser user;

  @BeforeEach
  void open() throws SQLException {
    world = World.create();
    world.node("node");
    world.partitions.ensure(Partition.of(world.clock.instant()));
    world.partitions.ensure(Partition.of(world.clock.instant().plus(Duration.ofDays(1))));
    user = SqlUser.owner(world.address).begin();
  }

  @AfterEach
  void close() throws SQLException {
    user.close();
    world.close();
  }

  private static TaskId id(String text) {
    return TaskId.parse(text).orElseThrow();
  }

  private void complete(ClaimedTask task) {
    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(task, new Outcome.Completed(null, null))), Set.of(), "node");
  }

  @Test
  void an_open_transaction_blocks_nobody_else() throws SQLException {
    String held = user.enqueue("'held', key => 'k'");
    user.sql("SET CONSTRAINTS ALL IMMEDIATE");
    long start = System.nanoTime();

    TaskId same = world.create(World.task("held", null));
    TaskId again = world.create(World.task("held", null));
    world.create(World.task("other", new Target.Discard()));
    try (SqlUser another = SqlUser.owner(world.address)) {
      another.enqueue("'third'");
    }
    List<ClaimedTask> claimed = new ArrayList<>();
    while (claimed.size() < 4) {
      claimed.addAll(world.claim("node", 10));
    }
    claimed.forEach(this::complete);
    Duration took = Duration.ofNanos(System.nanoTime() - start);

    assertThat(took).isLessThan(Duration.ofSeconds(4)); // lower than the statement timeout of 5 s
    assertThat(world.state(same)).isEqualTo(TaskState.COMPLETED);
    assertThat(world.state(again)).isEqualTo(TaskState.COMPLETED);
    user.commit();
    assertThat(world.claimOne("node").id()).isEqualTo(id(held));
    world.create(World.task("held", null));
    assertThat(world.catalog.isKnownType(World.TENANT, "held")).isTrue();
  }

  private long catalogVersion() {
    return Long.parseLong(
        world.value(
            "SELECT version + (SELECT count(*) FROM carillon.catalog_change)"
                + " FROM carillon.catalog"));
  }

  private static NewTask urgent(String type) {
    return TestTask.of(type).priority(9).build();
  }

  @Test
  void a_batch_of_a_type_that_is_being_created_writes_the_catalog_rarely() throws SQLException {
    user.enqueue("'held'");
    List<NewTask> batch = new ArrayList<>();
    batch.addAll(Collections.nCopies(1_000, World.task("held", null)));
    batch.addAll(Collections.nCopies(1_000, World.task("held", new Target.Discard())));
    batch.addAll(Collections.nCopies(1_000, urgent("held")));
    long before = catalogVersion();

    world.db.inTransaction(tx -> world.tasks.createAll(tx, World.TENANT, batch));

    assertThat(catalogVersion() - before).isLessThan(20); // three lanes, and a few per second
    user.commit();
    world.catalog.refresh();
    Lane first = world.catalog.laneFor(World.TENANT, "held", 5, 0, Route.TYPE);
    assertThat(first.slice()).isZero();
    assertThat(world.catalog.isKnownType(World.TENANT, "held")).isTrue();
  }

  @Test
  void a_transaction_cannot_raise_its_limit_of_new_types() throws SQLException {
    user.sql("SET carillon.made = '-1000000'");
    user.sql("SELECT carillon.enqueue('new' || n) FROM generate_series(1, 1000) n");

    assertThatThrownBy(() -> user.enqueue("'one-more'"))
        .hasMessageContaining("one transaction may use at most 1000 new types and priorities")
        .extracting(e -> ((SQLException) e).getSQLState())
        .isEqualTo("54000");

    user.rollback();
    user.enqueue("'one-more'"); // each transaction has its own count
    user.commit();
  }

  /** Transaction ids start again in a database restored from a dump. */
  @Test
  void an_old_change_with_the_same_transaction_id_does_not_hide_a_new_one() throws SQLException {
    long before = catalogVersion();

    user.sql(
        "INSERT INTO carillon.catalog_change (created_at, xact_id)"
            + " VALUES (now() - interval '1 hour', pg_current_xact_id())");
    user.sql("UPDATE carillon.tenant SET weight = 2");
    user.commit();

    assertThat(catalogVersion()).isEqualTo(before + 2); // the inserted row and the change
  }

  @Test
  void a_type_whose_creation_was_rolled_back_is_created_on_next_use() throws SQLException {
    user.enqueue("'held'");
    world.create(World.task("held", null));
    world.create(World.task("held", null));
    user.rollback();

    Awaitility.await()
        .until(
            () -> {
              world.create(World.task("held", null));
              return world.catalog.isKnownType(World.TENANT, "held");
            });

    assertThat(world.value("SELECT count(*) FROM carillon.task_type WHERE name = 'held'"))
        .isEqualTo("1");
  }

  @Test
  void a_pending_task_is_cancelled_only_if_the_transaction_commits() throws SQLException {
    String task = user.enqueue("'mail', key => 'k'");
    user.enqueue("'mail', key => 'k', due_at => now() + interval '1 day'");
    String other = user.enqueue("'mail', key => 'other'");
    user.commit();

    assertThat(user.cancel("'mail', 'k'")).isEqualTo(2);
    assertThat(user.cancel("'mail', 'k'")).isZero();
    List<ClaimedTask> meanwhile = List.of(world.claimOne("node"));
    assertThat(meanwhile).extracting(ClaimedTask::id).containsExactly(id(other));
    assertThat(world.claim("node", 10)).isEmpty();
    user.rollback();
    assertThat(world.state(id(task))).isEqualTo(TaskState.PENDING);

    assertThat(user.cancel("'mail', 'k'")).isEqualTo(2);
    user.commit();
    assertThat(world.state(id(task))).isEqualTo(TaskState.CANCELLED);
    assertThat(world.tasks.story(World.TENANT, id(task)).orElseThrow().transitions())
        .extracting(TaskStory.Transition::by)
        .containsExactly("sql:" + world.address.user());
  }

  @Test
  void a_task_enqueued_and_cancelled_in_one_transaction_never_runs() throws SQLException {
    user.enqueue("'mail', key => 'k'");
    assertThat(user.cancel("'mail', 'k'")).isEqualTo(1);
    user.commit();

    assertThat(world.claim("node", 10)).isEmpty();
  }

  @Test
  void a_running_task_can_end_while_a_transaction_that_cancels_it_is_open() throws SQLException {
    user.enqueue("'mail', key => 'k'");
    user.commit();
    ClaimedTask running = world.claimOne("node");
    assertThat(user.cancel("'mail', 'k'")).isZero();
    user.sql("SET CONSTRAINTS ALL IMMEDIATE");

    complete(running);

    assertThat(world.state(running.id())).isEqualTo(TaskState.COMPLETED);
    user.commit();
    assertThat(world.store.expiry().applyCancelRequests(10)).isEqualTo(1);
    assertThat(world.store.expiry().applyCancelRequests(10)).isZero();
    assertThat(world.state(running.id())).isEqualTo(TaskState.COMPLETED);
  }

  @Test
  void a_cancel_of_a_running_task_is_requested_when_the_transaction_commits() throws SQLException {
    user.enqueue("'mail', key => 'k'");
    user.commit();
    ClaimedTask running = world.claimOne("node");
    user.cancel("'mail', 'k'");
    assertThat(world.store.expiry().applyCancelRequests(10)).isZero();

    user.commit();
    world.store.expiry().applyCancelRequests(10);

    assertThat(world.find(running.id()).cancelRequested()).isTrue();
  }

  /** A cancel that waited for a claim has locked a task that runs by then. */
  @Test
  void a_cancel_that_lost_to_a_claim_releases_its_lock_on_the_task() throws Exception {
    TaskId id = id(user.enqueue("'mail', key => 'k'"));
    user.commit();
    world.catalog.refresh();
    var quota = new WorkQueue.Quota(world.catalog.lanes().iterator().next(), 1, Instant.EPOCH);
    Duration lease = Duration.ofMinutes(1);
    WorkQueue queue = world.store.queue();

    try (Overlapping overlapping = new Overlapping(world);
        SqlUser other = SqlUser.owner(world.address)) {
      int cancelled =
          overlapping.runWaiting(
              tx -> queue.claimForWorker(tx, id.partition(), quota, "worker", lease),
              () -> user.cancel("'mail', 'k'"));

      assertThat(cancelled).isZero();
      other.sql("SELECT FROM carillon.task FOR UPDATE NOWAIT");
    }
    user.commit();
    assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
    assertThat(world.value("SELECT count(*) FROM carillon.cancel_request")).isEqualTo("1");
  }

  @Test
  void every_task_has_one_outcome_when_cancels_race_with_claims() throws Exception {
    int tasks = 300;
    user.sql("SELECT carillon.enqueue('mail', key => 'k' || n) FROM generate_series(1, 300) n");
    user.commit();
    AtomicInteger cancelled = new AtomicInteger();
    List<ClaimedTask> claimed = new ArrayList<>();
    List<Future<Integer>> ends = new ArrayList<>();
    try (ExecutorService users = Executors.newFixedThreadPool(4)) {
      for (int t = 0; t < 4; t++) {
        int first = t;
        ends.add(
            users.submit(
                () -> {
                  try (SqlUser one = SqlUser.owner(world.address)) {
                    for (int n = 1 + first; n <= tasks; n += 4) {
                      cancelled.addAndGet(one.cancel("'mail', 'k" + n + "'"));
                    }
                  }
                  return first;
                }));
      }
      while (claimed.size() + cancelled.get() < tasks) {
        claimed.addAll(world.claim("node", 7));
      }
      for (Future<Integer> end : ends) {
        end.get();
      }
    }
    claimed.forEach(this::complete);

    while (world.store.expiry().applyCancelRequests(100) > 0) {
      Thread.onSpinWait();
    }
    assertThat(claimed.size() + cancelled.get()).isEqualTo(tasks);
    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.task WHERE state IN ('COMPLETED', 'CANCELLED')"))
        .isEqualTo("300");
  }

  @Test
  void exactly_the_committed_tasks_run_despite_deadlocks_and_rollbacks() throws Exception {
    Set<String> committed = new HashSet<>();
    ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
    String database = world.address.url().replaceAll(".*/", "");
    world.sqlAsSuperuser("ALTER DATABASE " + database + " SET deadlock_timeout = '20ms'");
    world.sql("CREATE TABLE account (id int PRIMARY KEY, n int NOT NULL)");
    world.sql("INSERT INTO account SELECT n, 0 FROM generate_series(1, 4) n");
    try (ExecutorService users = Executors.newFixedThreadPool(32)) {
      List<Future<List<String>>> all = new ArrayList<>();
      for (int seed = 0; seed < 32; seed++) {
        Random random = new Random(seed);
        all.add(users.submit(() -> transactions(random, failures)));
      }
      for (Future<List<String>> one : all) {
        committed.addAll(one.get());
      }
    }
    assertThat(failures).as("deadlocks and serialization failures").isNotEmpty();
    assertThat(failures).isSubsetOf("40P01", "40001");
    assertThat(committed).isNotEmpty();
    assertThat(world.value("SELECT count(*) FROM carillon.task"))
        .isEqualTo(String.valueOf(committed.size()));

    Set<String> delivered = new HashSet<>();
    while (delivered.size() < committed.size()) {
      for (ClaimedTask task : world.claim("node", 500)) {
        assertThat(delivered.add(task.id().toString())).as("delivered once").isTrue();
        complete(task);
      }
    }
    assertThat(delivered).isEqualTo(committed);
    assertThat(world.claim("node", 10)).isEmpty();
  }

  /** Runs random transactions and returns the tasks of those that committed. */
  private List<String> transactions(Random random, ConcurrentLinkedQueue<String> failures)
      throws SQLException {
    List<String> committed = new ArrayList<>();
    try (SqlUser one = SqlUser.owner(world.address).begin()) {
      if (random.nextInt(4) == 0) {
        one.serializable();
      }
      for (int n = 0; n < 8; n++) {
        List<String> created = new ArrayList<>();
        try {
          for (int step = 0; step < 3; step++) {
            one.sql("UPDATE account SET n = n + 1 WHERE id = " + (1 + random.nextInt(4)));
            created.add(one.enqueue("'type" + random.nextInt(6) + "', '{\"n\": 1}'"));
            one.sql("SAVEPOINT s");
            one.enqueue("'type" + random.nextInt(6) + "'");
            one.sql("ROLLBACK TO SAVEPOINT s");
          }
          if (random.nextInt(3) == 0) {
            one.rollback();
          } else {
            one.commit();
            committed.addAll(created);
          }
        } catch (SQLException e) {
          failures.add(e.getSQLState());
          one.rollback();
        }
      }
    }
    return committed;
  }

  @Test
  void a_locked_unique_key_does_not_block_the_janitor() throws SQLException {
    world.sql(
        "INSERT INTO carillon.unique_task"
            + " VALUES (1, 'mail', 'k', gen_random_uuid(), now() - interval '1 day')");
    user.enqueue("'mail', key => 'k', unique_for => interval '1 hour'");

    assertThat(new UniqueTasks(world.db).forgetOld(10)).isZero();

    user.rollback();
    assertThat(new UniqueTasks(world.db).forgetOld(10)).isEqualTo(1);
  }
}
