package carillon.store.deadletters;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
import carillon.model.task.TaskState;
import carillon.store.catalog.Audit;
import carillon.store.deadletters.Redrive.State;
import carillon.store.tasks.TaskStory;
import carillon.testkit.DeadTasks;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RedrivesTest {

  /** The complete dead tasks, except for their versions. */
  private static final String DEAD_TASKS =
      """
      SELECT md5(string_agg((to_jsonb(t) - 'version')::text || d::text, '' ORDER BY t.id))
      FROM carillon.task t
      JOIN carillon.dead_letter d ON d.task = t.id
      """;

  private static final String GROUPS =
      """
      SELECT string_agg(fingerprint || ' ' || letters || ' ' || deaths || ' ' || last_at, ',' ORDER BY fingerprint)
      FROM carillon.dead_letter_group
      """;

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Redrive start(DeadLetterFilter filter, @Nullable Integer rate) {
    return world.db.inTransaction(
        tx ->
            world.store.redrives().start(tx, World.TENANT, filter, rate, "starter").orElseThrow());
  }

  private Redrive find(Redrive redrive) {
    return world.store.redrives().find(World.TENANT, redrive.id()).orElseThrow();
  }

  private static Redrives.Open open(Redrive redrive) {
    return new Redrives.Open(World.TENANT, redrive.id());
  }

  private Redrive undo(Redrive redrive) {
    world.db.inTransaction(
        tx -> world.store.redrives().undo(tx, World.TENANT, redrive.id(), "undoer"));
    while (world.store.redrives().step(open(redrive)).isPresent()) {
      // Run every step.
    }
    return find(redrive);
  }

  private Redrives.Result stop(Redrive redrive) {
    return world.db.inTransaction(
        tx -> world.store.redrives().stop(tx, World.TENANT, redrive.id(), "stopper"));
  }

  /** Pretends that 200 ms have passed since the last step. */
  private void pass200Ms(Redrive redrive) {
    world.sql(
        "UPDATE carillon.redrive SET stepped_at = stepped_at - interval '200 ms' WHERE id = '"
            + redrive.id()
            + "'");
  }

  private static DeadLetterFilter ofType(String type) {
    return DeadLettersTest.filter(type, null, null, null, null, Map.of(), null);
  }

  @Test
  void a_small_redrive_runs_in_the_request_and_keeps_the_history() {
    DeadTasks.fill(world, 400, 8);

    Redrive redrive = start(ofType("t1"), null);

    assertThat(redrive.state()).isEqualTo(State.DONE);
    assertThat(redrive.matched()).isEqualTo(100);
    assertThat(redrive.redriven()).isEqualTo(100);
    assertThat(redrive.refused()).isZero();
    assertThat(find(redrive).waiting()).isEqualTo(100);
    assertThat(
            world.value(
                """
                SELECT count(*)
                FROM carillon.task
                WHERE state = 'PENDING' AND attempt = 0 AND crashes IS NULL AND expires_at IS NULL AND fence = 5
                  AND finished_at IS NULL AND ready_at - due_at BETWEEN '0 s' AND '1 ms' AND due_at > now() - interval '1 minute'
                """))
        .isEqualTo("100");
    assertThat(world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("300");
    world.node("node");
    ClaimedTask claimed = world.claimOne("node");
    TaskStory story = world.tasks.story(World.TENANT, claimed.id()).orElseThrow();
    assertThat(story.attempts())
        .extracting(TaskStory.Attempt::outcome)
        .containsExactly("DEAD", "RUNNING");
    assertThat(story.attempts().getFirst().result().failure()).isEqualTo(FailureKind.CONNECTION);
    assertThat(story.transitions().getFirst())
        .satisfies(
            first -> {
              assertThat(first.to()).isEqualTo(TaskState.PENDING);
              assertThat(first.by()).isEqualTo("starter");
              assertThat(first.reason()).isEqualTo("redrive " + redrive.id());
            });
    assertThat(find(redrive).waiting()).isEqualTo(99);
  }

  @Test
  void a_rate_is_spread_over_steps_of_200_ms_and_never_catches_up() {
    DeadTasks.fill(world, 100, 1);

    Redrive redrive = start(DeadLetterFilter.ALL, 7);
    List<Long> redriven = new ArrayList<>();
    for (int step = 0; step < 10; step++) {
      assertThat(world.store.redrives().step(open(redrive))).contains(Duration.ofMillis(200));
      redriven.add(find(redrive).redriven());
      world.sql("UPDATE carillon.redrive SET stepped_at = now() + interval '1 minute'");
      Optional<Duration> early = world.store.redrives().step(open(redrive)); // too early
      assertThat(early.orElseThrow())
          .isBetween(Duration.ofNanos(1), Duration.ofMinutes(1).plusMillis(200));
      world.sql("UPDATE carillon.redrive SET stepped_at = now() - interval '200 ms'");
    }

    assertThat(redriven).containsExactly(1L, 2L, 4L, 5L, 7L, 8L, 9L, 11L, 12L, 14L);
    world.sql("UPDATE carillon.redrive SET stepped_at = now() - interval '1 hour'");
    world.store.redrives().step(open(redrive));
    assertThat(find(redrive).redriven()).as("after an hour without a step").isEqualTo(15);
  }

  @Test
  void a_redrive_ignores_later_deaths_and_deleted_letters() {
    DeadTasks.fill(world, 40, 1);
    Redrive redrive = start(DeadLetterFilter.ALL, 5);
    world.store.redrives().step(open(redrive));
    world.sql(
        "UPDATE carillon.dead_letter SET died_at = now() + interval '1 minute' WHERE key = 'key"
            + " 30'");
    TaskId byHand =
        world
            .store
            .deadLetters()
            .list(
                World.TENANT,
                DeadLettersTest.filter(null, null, null, null, "key 20", Map.of(), null),
                1,
                null,
                false)
            .items()
            .getFirst()
            .task()
            .id();
    world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, byHand, "me", null));
    world
        .store
        .deadLetters()
        .purge(
            World.TENANT,
            DeadLettersTest.filter(null, null, null, null, "key 10", Map.of(), null),
            Duration.ZERO,
            "me");

    do {
      pass200Ms(redrive);
    } while (world.store.redrives().step(open(redrive)).isPresent());

    Redrive done = find(redrive);
    assertThat(done.state()).isEqualTo(State.DONE);
    assertThat(done.matched()).isEqualTo(40);
    assertThat(done.redriven()).isEqualTo(37);
    assertThat(done.refused()).isZero();
    assertThat(world.value("SELECT string_agg(key, ' ') FROM carillon.dead_letter"))
        .isEqualTo("key 30");
  }

  @Test
  void a_letter_whose_task_is_not_dead_is_counted_as_refused() {
    DeadTasks.fill(world, 10, 1);
    world.sql("UPDATE carillon.task SET state = 'CANCELLED' WHERE key IN ('key 3', 'key 4')");

    Redrive redrive = start(DeadLetterFilter.ALL, null);

    assertThat(redrive.matched()).isEqualTo(10);
    assertThat(redrive.redriven()).isEqualTo(8);
    assertThat(redrive.refused()).isEqualTo(2);
  }

  @Test
  void two_nodes_in_one_redrive_redrive_each_letter_once() throws Exception {
    DeadTasks.fill(world, 15_000, 5);
    Redrive redrive = start(DeadLetterFilter.ALL, null);
    assertThat(redrive.state()).as("too many letters for one request").isEqualTo(State.RUNNING);

    try (World other = world.anotherProcess();
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      List<Callable<Boolean>> nodes = new ArrayList<>();
      for (World node : List.of(world, other)) {
        nodes.add(
            () -> {
              while (node.store.redrives().step(open(redrive)).isPresent()) {
                // Run every step.
              }
              return true;
            });
      }
      for (Future<Boolean> node : threads.invokeAll(nodes)) {
        assertThat(node.get()).isTrue();
      }
    }

    assertThat(find(redrive).redriven()).isEqualTo(15_000);
    assertThat(world.value("SELECT count(DISTINCT task) || ' ' || count(*) FROM carillon.attempt"))
        .isEqualTo("15000 15000");
    assertThat(world.value("SELECT max(n) || ' ' || count(*) FROM carillon.redriven"))
        .isEqualTo("15000 15000");
    assertThat(world.value("SELECT sum(letters) FROM carillon.dead_letter_group")).isEqualTo("0");
  }

  @Test
  void an_undo_restores_the_previous_state() {
    DeadTasks.fill(world, 2_500, 5);
    String tasks = world.value(DEAD_TASKS);
    String groups = world.value(GROUPS);

    Redrive redrive = start(DeadLetterFilter.ALL, null);
    assertThat(world.value(DEAD_TASKS)).isNotEqualTo(tasks);
    Redrive undone = undo(redrive);

    assertThat(undone.state()).isEqualTo(State.UNDONE);
    assertThat(undone.undone()).isEqualTo(2_500);
    assertThat(undone.waiting()).isZero();
    assertThat(world.value(DEAD_TASKS)).isEqualTo(tasks);
    assertThat(world.value(GROUPS)).isEqualTo(groups);
    assertThat(world.value("SELECT count(*) FROM carillon.attempt")).isEqualTo("0");
    assertThat(
            world.value(
                "SELECT string_agg(DISTINCT who || ' ' || from_state || ' ' || to_state, ',') FROM"
                    + " carillon.transition WHERE from_state <> 'PENDING' OR to_state = 'DEAD'"))
        .isEqualTo("starter DEAD PENDING,undoer PENDING DEAD");
    assertThat(start(DeadLetterFilter.ALL, null).redriven()).as("redriven again").isEqualTo(2_500);
  }

  @Test
  void an_undo_returns_only_tasks_that_have_not_started() {
    DeadTasks.fill(world, 20, 1);
    Redrive redrive = start(DeadLetterFilter.ALL, null);
    world.node("node");
    List<ClaimedTask> claimed = world.claim("node", 6);
    ClaimedTask released = claimed.getLast(); // pending again, but has started once
    Failure shutdown = Failure.of(FailureKind.SHUTDOWN, "shut down");
    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(released, new Outcome.Released(shutdown))), Set.of(), "node");
    TaskId cancelled =
        new TaskId(
            UUID.fromString(
                world.value(
                    "SELECT id FROM carillon.every_task WHERE state = 'PENDING' AND fence = 5 LIMIT"
                        + " 1")));
    world.cancel(cancelled);

    Redrive undone = undo(redrive);

    assertThat(undone.undone()).isEqualTo(13);
    assertThat(claimed.subList(0, 5)).allMatch(task -> world.state(task.id()) == TaskState.RUNNING);
    assertThat(world.state(released.id())).isEqualTo(TaskState.PENDING);
    assertThat(world.state(cancelled)).isEqualTo(TaskState.CANCELLED);
    assertThat(world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("13");
    assertThat(world.value("SELECT count(*) FROM carillon.redriven")).isEqualTo("0");
  }

  @Test
  void a_redrive_continues_neither_after_a_stop_nor_after_an_undo() {
    DeadTasks.fill(world, 50, 1);
    Redrive first = start(DeadLetterFilter.ALL, 50);
    world.store.redrives().step(open(first));
    Redrives.Result stopped = stop(first);
    pass200Ms(first);

    assertThat(stopped).isInstanceOf(Redrives.Result.Changed.class);
    assertThat(world.store.redrives().step(open(first))).isEmpty();
    assertThat(find(first).redriven()).isEqualTo(10);
    Redrives.Result again = stop(first);
    assertThat(again).isInstanceOf(Redrives.Result.WrongState.class);

    Redrive second = start(DeadLetterFilter.ALL, 50);
    world.store.redrives().step(open(second));
    assertThat(undo(second).undone()).isEqualTo(10);
    assertThat(
            world
                .store
                .audit()
                .list(World.TENANT, new Audit.Filter(null, second.id().toString()), 10, null)
                .items())
        .extracting(entry -> entry.action() + " by " + entry.who())
        .containsExactly(
            "redrive.undone by undoer", "redrive.undo by undoer", "redrive.start by starter");
    assertThat(world.store.redrives().list(World.TENANT, 1, null).items())
        .extracting(Redrive::id)
        .containsExactly(second.id());
  }
}
