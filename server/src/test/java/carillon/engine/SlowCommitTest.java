package carillon.engine;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.cluster.ClusterView;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.NewTask;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.Latches;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Two loops that claim in turns, where a claim's commit is not answered at once. */
@Tag("slow")
class SlowCommitTest {

  private static final int SEATS = 3;
  private static final int MANY = ClaimPipeline.MAX_EARLY_TASKS + 1;
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  private final FakeDeliverer deliverer = new FakeDeliverer();
  private final List<String> failed = new CopyOnWriteArrayList<>();
  private World world;
  private @Nullable Engine engine;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
  }

  @AfterEach
  void close() throws InterruptedException {
    letCommitsGo(); // or whoever waits for one would never end
    if (engine != null) {
      engine.stop();
    }
    world.close();
  }

  private void start(int seats) {
    engine =
        Engines.start(
            world,
            "node",
            new Engine.Ways(deliverer, List.of()),
            () -> ClusterView.ALONE,
            new EngineConfig(seats, Duration.ZERO, 3, Duration.ofMinutes(1)),
            event -> {
              if (event instanceof EngineEvent.PassFailed(String loop)) {
                failed.add(loop);
              }
            });
  }

  /** Has every claim do that when it commits. */
  private void whenCommitting(String statement) {
    world.sql("DROP TRIGGER IF EXISTS slow ON carillon.claim");
    world.sql(
        "CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
            + " $$ BEGIN "
            + statement
            + "; RETURN NULL; END $$");
    world.sql(
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON carillon.claim"
            + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()");
  }

  /** Without the session's limit for locks, which is short. */
  private void holdCommits() {
    whenCommitting(
        "PERFORM set_config('lock_timeout', '0', true); PERFORM pg_advisory_xact_lock_shared(42)");
    world.value("SELECT pg_advisory_lock(42)");
  }

  private void letCommitsGo() {
    world.value("SELECT pg_advisory_unlock(42)");
  }

  private int committing() {
    return waitingFor("advisory");
  }

  /** How many sessions wait for a lock of that kind. */
  private int waitingFor(String lock) {
    return Integer.parseInt(
        world.value(
            """
            SELECT count(*)
            FROM pg_stat_activity
            WHERE datname = current_database()
              AND wait_event = '%s'
            """
                .formatted(lock)));
  }

  private TaskId due(String type) {
    return world.create(World.task(type, HTTP));
  }

  private void awaitCompleted(int tasks) {
    String completed = "SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED'";
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> world.value(completed).equals(Integer.toString(tasks)));
    Engine running = requireNonNull(engine);
    await().until(() -> running.inFlight() + running.toBeWritten() == 0);
  }

  @Test
  void what_comes_due_meanwhile_is_claimed_and_nothing_is_sent_before_its_commit() {
    holdCommits();
    start(SEATS);
    TaskId first = due("t");
    await().until(() -> committing() == 1);

    TaskId second = due("t");
    await().until(() -> committing() == 2);

    assertThat(deliverer.delivered()).isEmpty();
    letCommitsGo();
    awaitCompleted(2);
    assertThat(deliverer.delivered())
        .extracting(ClaimedTask::id)
        .containsExactlyInAnyOrder(first, second);
    assertThat(failed).isEmpty();
  }

  @Test
  void what_is_next_in_the_lane_is_known_before_the_commit() {
    TaskId now = due("t");
    TaskId later =
        world.create(World.task("t", HTTP, world.clock.instant().plus(Duration.ofSeconds(2))));
    holdCommits();
    start(SEATS);

    await().until(() -> committing() == 2);

    letCommitsGo();
    awaitCompleted(2);
    assertThat(deliverer.delivered())
        .extracting(ClaimedTask::id)
        .containsExactlyInAnyOrder(now, later);
  }

  @Test
  void what_is_not_committed_takes_its_seats_all_the_same() {
    for (int i = 0; i < SEATS; i++) {
      due("t");
    }
    AtomicInteger running = new AtomicInteger();
    List<Integer> atOnce = new CopyOnWriteArrayList<>();
    CountDownLatch answer = new CountDownLatch(1);
    deliverer.answer(
        _ -> {
          atOnce.add(running.incrementAndGet());
          Latches.await(answer);
          running.decrementAndGet();
          return new DeliveryResult.Accepted(200, "ok");
        });
    holdCommits();
    start(SEATS);

    await().until(() -> committing() == 1);
    due("another"); // wakes both loops
    await().during(Duration.ofMillis(300)).until(() -> committing() == 1);
    letCommitsGo();
    await().until(() -> running.get() == SEATS);
    answer.countDown();

    awaitCompleted(SEATS + 1);
    assertThat(atOnce).hasSize(SEATS + 1).allMatch(tasks -> tasks <= SEATS);
    assertThat(failed).isEmpty();
  }

  @Test
  void a_commit_that_fails_leaves_its_tasks_and_its_seats_for_another_claim() {
    for (int i = 0; i < SEATS; i++) {
      due("t");
    }
    whenCommitting("RAISE EXCEPTION 'no'");
    start(SEATS);

    await().until(() -> !failed.isEmpty());
    assertThat(deliverer.delivered()).isEmpty();
    whenCommitting("NULL");

    awaitCompleted(SEATS);
    assertThat(deliverer.delivered()).hasSize(SEATS).allMatch(task -> task.attempt() == 1);
  }

  @Test
  void a_commit_that_fails_with_the_last_seats_is_not_tried_again_before_the_loops_delay() {
    for (int i = 0; i < SEATS; i++) {
      due("t");
    }
    world.sql("CREATE SEQUENCE tries");
    whenCommitting("PERFORM nextval('tries'); RAISE EXCEPTION 'no'");
    start(SEATS);

    await().until(() -> failed.size() >= 2);
    int before = tries();
    await().pollDelay(Duration.ofSeconds(3)).until(() -> true);

    // Two loops, each of which rests for a second at least.
    assertThat(tries() - before).isBetween(1, 8);
  }

  private int tries() {
    return Integer.parseInt(world.value("SELECT last_value FROM tries"));
  }

  @Test
  void while_one_with_a_key_commits_nobody_waits_for_the_next_with_it() {
    NewTask keyed = keyed();
    world.create(keyed);
    world.create(keyed);
    holdCommits();
    start(SEATS);

    await().until(() -> committing() == 1);
    // The second would wait for the key, and whoever looks with it.
    await().during(Duration.ofMillis(300)).until(() -> waitingFor("transactionid") == 0);
    letCommitsGo();

    awaitCompleted(2);
    assertThat(failed).isEmpty();
  }

  private static NewTask keyed() {
    return new NewTask(
        "t", null, null, null, null, "{}", HTTP, null, null, null, "key", null, Map.of());
  }

  @Test
  void after_a_suspect_nobody_looks_before_it_is_known_that_it_was_taken() {
    TaskId suspect = due("t");
    world.sql("UPDATE carillon.task SET crashes = 1 WHERE id = '%s'".formatted(suspect));
    nothingMoreIsClaimedDuringTheCommit(SEATS);
    awaitCompleted(2);
  }

  @Test
  void a_large_claim_commits_before_anybody_looks_again() {
    for (int i = 0; i < MANY; i++) {
      due("t");
    }
    nothingMoreIsClaimedDuringTheCommit(2 * MANY);
    awaitCompleted(MANY + 1);
  }

  private void nothingMoreIsClaimedDuringTheCommit(int seats) {
    holdCommits();
    start(seats);
    await().until(() -> committing() == 1);
    due("another");
    await().during(Duration.ofMillis(300)).until(() -> committing() == 1);
    letCommitsGo();
  }

  @Test
  void a_connection_that_breaks_while_it_commits_leaves_its_tasks_and_its_seats() {
    holdCommits();
    start(SEATS);
    TaskId first = due("t");
    await().until(() -> committing() == 1);

    world.value(
        """
        SELECT pg_terminate_backend(pid)
        FROM pg_stat_activity
        WHERE datname = current_database()
          AND wait_event = 'advisory'
        """);

    await().until(() -> !failed.isEmpty());
    await().until(() -> committing() == 1); // another claim of it
    assertThat(deliverer.delivered()).isEmpty();
    letCommitsGo();
    awaitCompleted(1);
    assertThat(deliverer.delivered()).extracting(ClaimedTask::id).containsExactly(first);
    assertThat(deliverer.delivered()).allMatch(task -> task.attempt() == 1);
  }

  @Test
  void many_that_come_due_while_commits_take_their_time_are_each_sent_once() {
    whenCommitting("PERFORM pg_sleep(random() * 0.004)");
    Random random = new Random(7);
    Instant from = world.clock.instant().plusMillis(200);
    List<TaskId> all =
        Stream.generate(
                () ->
                    world.create(
                        World.task(
                            "t" + random.nextInt(3), HTTP, from.plusMillis(random.nextInt(800)))))
            .limit(300)
            .toList();
    start(SEATS);

    awaitCompleted(all.size());
    assertThat(deliverer.delivered())
        .extracting(ClaimedTask::id)
        .containsExactlyInAnyOrderElementsOf(all);
    assertThat(deliverer.delivered()).allMatch(task -> task.attempt() == 1);
    assertThat(failed).isEmpty();
  }
}
