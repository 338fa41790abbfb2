package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
import carillon.testkit.World;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The history of a task with 100,000 attempts is read in pages. */
class StoryTest {

  private static final int ATTEMPTS = 100_000;

  static World world;
  static TaskId taskWithHistory;

  @BeforeAll
  static void fill() {
    world = World.create();
    world.countStatements();
    taskWithHistory = world.discard();
    world.sql(
        """
        INSERT INTO carillon.attempt (tenant, task, partition, attempt, fence, started_at, ended_at, outcome, failure)
        SELECT 1, '%s', '%s', n, n, now() - (%d - n) * interval '1 s', now(), 'RETRIED', 'TIMEOUT'
        FROM generate_series(1, %d) n
        """
            .formatted(taskWithHistory, taskWithHistory.partition().day(), ATTEMPTS, ATTEMPTS));
    world.sql(
        """
        INSERT INTO carillon.transition (tenant, task, partition, at, from_state, to_state, fence, who)
        SELECT 1, '%s', '%s', now() - (%d - n) * interval '1 s' + s * interval '1 ms',
               (ARRAY['PENDING', 'RUNNING'])[s]::carillon.task_state,
               (ARRAY['RUNNING', 'PENDING'])[s]::carillon.task_state, n, 'node'
        FROM generate_series(1, %d) n, generate_series(1, 2) s
        """
            .formatted(taskWithHistory, taskWithHistory.partition().day(), ATTEMPTS, ATTEMPTS));
    world.sql("UPDATE carillon.task SET fence = %d, attempt = fence".formatted(ATTEMPTS));
  }

  @AfterAll
  static void close() {
    world.close();
  }

  @Test
  void the_newest_attempts_are_read_without_reading_older_ones() {
    world.value("SELECT pg_stat_statements_reset()");

    TaskStory story = world.tasks.story(World.TENANT, taskWithHistory).orElseThrow();

    assertThat(story.attempts()).hasSize(100);
    assertThat(story.attempts().getLast().fence()).isEqualTo(ATTEMPTS);
    assertThat(story.olderAttempts()).isEqualTo(ATTEMPTS - 99);
    assertThat(story.transitions()).hasSize(100);
    assertThat(story.transitions().getLast().fence()).isEqualTo(ATTEMPTS);
    assertThat(story.olderTransitions()).isNotNull();
    assertThat(pagesRead()).isLessThan(200);
  }

  @Test
  void a_page_in_the_middle_is_read_without_reading_other_attempts() {
    TaskView task = world.find(taskWithHistory);
    world.value("SELECT pg_stat_statements_reset()");

    var attempts = world.tasks.attempts(World.TENANT, task, 100, ATTEMPTS / 2);
    var before = new TaskStory.Moment(ATTEMPTS / 2, Instant.EPOCH);
    var transitions = world.tasks.transitions(World.TENANT, task, 100, before);

    assertThat(attempts.items()).hasSize(100);
    assertThat(attempts.items().getFirst().fence()).isEqualTo(ATTEMPTS / 2 - 1);
    assertThat(transitions.items()).hasSize(100);
    assertThat(transitions.items().getFirst().fence()).isEqualTo(ATTEMPTS / 2 - 1);
    assertThat(pagesRead()).isLessThan(200);
  }

  private static double pagesRead() {
    return Double.parseDouble(
        world.value(
            """
            SELECT sum(shared_blks_hit + shared_blks_read)
            FROM pg_stat_statements s
            JOIN pg_database d ON d.oid = s.dbid
            WHERE d.datname = current_database()
              AND s.query NOT LIKE '%pg_%'
            """));
  }

  @Test
  void the_request_of_an_attempt_survives_a_retry_a_death_and_a_redrive() {
    try (World fresh = World.create()) {
      fresh.node("node");
      TaskId id = fresh.discard();
      Failure failure = Failure.of(FailureKind.BROKEN, "broke");
      end(fresh, new Outcome.RetryAt(fresh.clock.instant(), failure), "{\"n\":1}");
      end(fresh, new Outcome.Dead(failure, false), "{\"n\":2}");
      fresh.db.inTransaction(tx -> fresh.tasks.redrive(tx, World.TENANT, id, "test", null));
      end(fresh, new Outcome.RetryAt(fresh.clock.instant(), failure), null);
      end(fresh, new Outcome.Completed(200, null), "{\"n\":4}");

      assertThat(fresh.tasks.story(World.TENANT, id).orElseThrow().attempts())
          .extracting(attempt -> attempt.result().request())
          .containsExactly("{\"n\":1}", "{\"n\":2}", null, "{\"n\":4}");
    }
  }

  @Test
  void a_running_attempt_does_not_show_the_previous_request() {
    try (World fresh = World.create()) {
      fresh.node("node");
      TaskId id = fresh.discard();
      Failure failure = Failure.of(FailureKind.STATUS, "503");
      end(fresh, new Outcome.RetryAt(fresh.clock.instant(), failure), "{\"n\":1}");
      fresh.claimOne("node");

      assertThat(fresh.tasks.story(World.TENANT, id).orElseThrow().attempts())
          .extracting(attempt -> attempt.result().request())
          .containsExactly("{\"n\":1}", null);
    }
  }

  @Test
  void a_story_that_is_read_while_attempts_end_does_not_contradict_itself() throws Exception {
    try (World fresh = World.create();
        ExecutorService threads = Executors.newSingleThreadExecutor()) {
      fresh.node("node");
      TaskId id = fresh.discard();
      Failure failure = Failure.of(FailureKind.STATUS, "503");
      Future<?> attempts =
          threads.submit(
              () -> {
                for (int i = 0; i < 300; i++) {
                  end(fresh, new Outcome.RetryAt(fresh.clock.instant(), failure), null);
                }
              });

      Set<String> contradictions = new TreeSet<>();
      while (!attempts.isDone()) {
        TaskStory story = fresh.tasks.story(World.TENANT, id).orElseThrow();
        int fence = story.task().fence();
        if (fence > 0) {
          TaskStory.Transition last = story.transitions().getLast();
          if (last.to() != story.task().state() || last.fence() != fence) {
            contradictions.add(story.task().state() + " " + fence + ", but " + last);
          }
        }
      }

      attempts.get();
      assertThat(contradictions).isEmpty();
    }
  }

  private static void end(World world, Outcome outcome, @Nullable String request) {
    ClaimedTask task = world.claimOne("node");
    world
        .store
        .outcomes()
        .finishAttempts(List.of(new Attempted(task, outcome, request)), Set.of(), "node");
  }
}
