package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.ClaimedTask;
import carillon.model.DeliveryResult;
import carillon.model.NodeLease;
import carillon.model.Target;
import carillon.model.TaskId;
import carillon.model.TaskState;
import carillon.store.TaskView;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A claimer of two loops, where a claim's commit is not answered at once. */
class SlowCommitTest {

  private static final int SEATS = 3;
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  private final FakeDeliverer deliverer = new FakeDeliverer();
  private final Seats seats = new Seats(SEATS);
  private final List<String> failed = new CopyOnWriteArrayList<>();
  private final List<Loop> loops = new ArrayList<>();
  private World world;
  private Dispatcher dispatcher;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
    Supplier<NodeLease> lease =
        () -> NodeLease.renewed("node", System.nanoTime(), Duration.ofMinutes(1));
    Completer completer = new Completer(world.endings, lease, _ -> {});
    dispatcher = new Dispatcher(deliverer, lease, completer, world.clock, _ -> {});
    Claimer claimer =
        new Claimer(
            world.queue,
            world.catalog,
            world.agenda,
            world.clock,
            lease,
            seats,
            Claimer.Lanes.ALL,
            dispatcher::send,
            completer,
            _ -> {});
    loops.add(new Loop("first", claimer::claimOnce, failed::add));
    loops.add(new Loop("second", claimer::claimOnce, failed::add));
    Runnable wake = () -> loops.forEach(Loop::wake);
    claimer.whenHandedOver(wake);
    seats.whenFreed(wake);
    world.agenda.whenEarlier(wake);
    Loop completing = new Loop("completer", completer::flushOnce, failed::add);
    completer.whenAdded(completing::wake);
    loops.add(completing);
  }

  @AfterEach
  void close() {
    loops.forEach(Loop::close);
    dispatcher.interrupt();
    dispatcher.close();
    world.close();
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

  private void holdCommits() {
    whenCommitting("PERFORM pg_advisory_xact_lock_shared(42)");
    world.value("SELECT pg_advisory_lock(42)");
  }

  private void letCommitsGo() {
    world.value("SELECT pg_advisory_unlock(42)");
  }

  private int committing() {
    return Integer.parseInt(
        world.value(
            """
            SELECT count(*)
            FROM pg_locks
            WHERE locktype = 'advisory'
              AND NOT granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """));
  }

  private void start() {
    loops.forEach(Loop::start);
  }

  private TaskId due(Duration in) {
    return world.create(World.task("t", HTTP, world.clock.instant().plus(in)));
  }

  private void awaitCompleted(TaskId... tasks) {
    await()
        .untilAsserted(
            () -> assertThat(tasks).allMatch(id -> world.state(id) == TaskState.COMPLETED));
  }

  @Test
  void what_comes_due_meanwhile_is_claimed_and_nothing_is_sent_before_its_commit() {
    TaskId first = due(Duration.ZERO);
    TaskId second = due(Duration.ofMillis(200));
    holdCommits();
    start();

    await().until(() -> committing() == 2);

    assertThat(deliverer.delivered()).isEmpty();
    letCommitsGo();
    awaitCompleted(first, second);
    assertThat(deliverer.delivered())
        .extracting(ClaimedTask::id)
        .containsExactlyInAnyOrder(first, second);
    assertThat(failed).isEmpty();
  }

  @Test
  void what_is_not_committed_takes_its_seats_all_the_same() {
    List<TaskId> all = Stream.generate(() -> due(Duration.ZERO)).limit(SEATS + 1).toList();
    AtomicInteger running = new AtomicInteger();
    List<Integer> atOnce = new CopyOnWriteArrayList<>();
    deliverer.answer(
        _ -> {
          atOnce.add(running.incrementAndGet());
          running.decrementAndGet();
          return new DeliveryResult.Accepted(200, "ok");
        });
    holdCommits();
    start();

    await().until(() -> committing() == 1);
    TaskId another = due(Duration.ZERO); // wakes both loops
    await().during(Duration.ofMillis(300)).until(() -> committing() == 1);
    letCommitsGo();

    awaitCompleted(all.toArray(TaskId[]::new));
    awaitCompleted(another);
    assertThat(atOnce).hasSize(SEATS + 2).allMatch(tasks -> tasks <= SEATS);
    assertThat(failed).isEmpty();
    assertThat(seats.taken()).isZero();
  }

  @Test
  void a_commit_that_fails_leaves_its_task_and_its_seats_for_another_claim() {
    TaskId id = due(Duration.ZERO);
    whenCommitting("RAISE EXCEPTION 'no'");
    start();

    await().until(() -> !failed.isEmpty());
    assertThat(deliverer.delivered()).isEmpty();
    assertThat(seats.taken()).isZero();
    whenCommitting("NULL");

    awaitCompleted(id);
    TaskView task = world.find(id);
    assertThat(task.attempt()).isEqualTo(1);
    assertThat(deliverer.delivered()).hasSize(1);
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
    start();

    awaitCompleted(all.toArray(TaskId[]::new));
    assertThat(deliverer.delivered())
        .extracting(ClaimedTask::id)
        .containsExactlyInAnyOrderElementsOf(all);
    assertThat(deliverer.delivered()).allMatch(task -> task.attempt() == 1);
    assertThat(failed).isEmpty();
    await().until(() -> seats.taken() == 0);
  }
}
