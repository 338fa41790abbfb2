package carillon.engine;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.cluster.ClusterView;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Claims whose commit is slow, fails, or loses its connection. */
@Tag("slow")
class SlowCommitTest {

  private static final int SEATS = 3;
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  private final FakeDeliverer deliverer = new FakeDeliverer();
  private final List<String> failedLoops = new CopyOnWriteArrayList<>();
  private World world;
  private @Nullable Engine engine;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
  }

  @AfterEach
  void close() throws InterruptedException {
    releaseCommits(); // otherwise a claimer that waits in its commit would never stop
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
            new Engine.Transports(deliverer, List.of()),
            () -> ClusterView.ALONE,
            new EngineConfig(seats, Duration.ZERO, 3, Duration.ofMinutes(1)),
            event -> {
              if (event instanceof EngineEvent.PassFailed(String loop)) {
                failedLoops.add(loop);
              }
            });
  }

  /** Makes the commit of every claim run a statement. */
  private void onCommit(String statement) {
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

  /** Blocks the commit of every claim, also beyond the short lock timeout of the session. */
  private void holdCommits() {
    onCommit(
        "PERFORM set_config('lock_timeout', '0', true); PERFORM pg_advisory_xact_lock_shared(42)");
    world.value("SELECT pg_advisory_lock(42)");
  }

  private void releaseCommits() {
    world.value("SELECT pg_advisory_unlock(42)");
  }

  /** The number of sessions that wait in their commit. */
  private int committing() {
    return Integer.parseInt(
        world.value(
            """
            SELECT count(*)
            FROM pg_stat_activity
            WHERE datname = current_database()
              AND wait_event = 'advisory'
            """));
  }

  private TaskId createDue(String type) {
    return world.create(World.task(type, HTTP));
  }

  private void awaitCompleted(int tasks) {
    String completed = "SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED'";
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> world.value(completed).equals(Integer.toString(tasks)));
    Engine running = requireNonNull(engine);
    await().until(() -> running.inFlight() + running.unsaved() == 0);
  }

  @Test
  void a_task_is_not_sent_before_its_claim_is_committed() {
    holdCommits();
    start(SEATS);
    TaskId first = createDue("t");
    await().until(() -> committing() == 1);

    TaskId second = createDue("t");
    await().during(Duration.ofMillis(300)).until(() -> deliverer.delivered().isEmpty());

    releaseCommits();
    awaitCompleted(2);
    assertThat(deliverer.delivered())
        .extracting(ClaimedTask::id)
        .containsExactlyInAnyOrder(first, second);
    assertThat(failedLoops).isEmpty();
  }

  @Test
  void a_failed_commit_leaves_its_tasks_and_seats_to_the_next_claim() {
    for (int i = 0; i < SEATS; i++) {
      createDue("t");
    }
    onCommit("RAISE EXCEPTION 'no'");
    start(SEATS);

    await().until(() -> !failedLoops.isEmpty());
    assertThat(deliverer.delivered()).isEmpty();
    onCommit("NULL");

    awaitCompleted(SEATS);
    assertThat(deliverer.delivered()).hasSize(SEATS).allMatch(task -> task.attempt() == 1);
  }

  @Test
  void a_failed_commit_is_retried_only_after_the_delay_of_the_loop() {
    for (int i = 0; i < SEATS; i++) {
      createDue("t");
    }
    world.sql("CREATE SEQUENCE tries");
    onCommit("PERFORM nextval('tries'); RAISE EXCEPTION 'no'");
    start(SEATS);

    await().until(() -> failedLoops.size() >= 2);
    int before = tries();
    await().pollDelay(Duration.ofSeconds(3)).until(() -> true);

    assertThat(tries() - before).isBetween(1, 4); // the loop waits at least a second
  }

  private int tries() {
    return Integer.parseInt(world.value("SELECT last_value FROM tries"));
  }

  @Test
  void a_connection_lost_during_the_commit_leaves_its_tasks_and_seats() {
    holdCommits();
    start(SEATS);
    TaskId first = createDue("t");
    await().until(() -> committing() == 1);

    world.value(
        """
        SELECT pg_terminate_backend(pid)
        FROM pg_stat_activity
        WHERE datname = current_database()
          AND wait_event = 'advisory'
        """);

    await().until(() -> !failedLoops.isEmpty());
    await().until(() -> committing() == 1); // the task is claimed again
    assertThat(deliverer.delivered()).isEmpty();
    releaseCommits();
    awaitCompleted(1);
    assertThat(deliverer.delivered()).extracting(ClaimedTask::id).containsExactly(first);
    assertThat(deliverer.delivered()).allMatch(task -> task.attempt() == 1);
  }

  @Test
  void tasks_that_come_due_during_slow_commits_are_each_sent_once() {
    onCommit("PERFORM pg_sleep(random() * 0.004)");
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
    assertThat(failedLoops).isEmpty();
  }
}
