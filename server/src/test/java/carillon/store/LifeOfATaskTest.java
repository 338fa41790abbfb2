package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
import carillon.model.task.TaskState;
import carillon.store.deadletters.DeadLetterFilter;
import carillon.store.tasks.TaskStory;
import carillon.testkit.World;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class LifeOfATaskTest {

  static World world;

  @BeforeAll
  static void open() {
    world = World.create();
    world.node("node");
  }

  @AfterAll
  static void close() {
    world.close();
  }

  @Test
  void a_completed_task_has_its_attempt_and_transitions_recorded() {
    TaskId id = world.discard();
    ClaimedTask claimed = world.claimOne("node");

    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(claimed, new Outcome.Completed(200, "ok"))),
            Set.of(claimed.lease().claim()),
            "node");

    TaskStory story = world.tasks.story(World.TENANT, id).orElseThrow();
    assertThat(story.task().state()).isEqualTo(TaskState.COMPLETED);
    assertThat(story.attempts())
        .singleElement()
        .satisfies(a -> assertThat(a.result().output()).isEqualTo("ok"));
    assertThat(story.transitions())
        .extracting(TaskStory.Transition::to)
        .containsExactly(TaskState.RUNNING, TaskState.COMPLETED);
    assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("0");
  }

  @Test
  void a_dead_task_is_a_dead_letter_until_it_is_redriven() {
    TaskId id = world.discard();
    ClaimedTask claimed = world.claimOne("node");
    Failure failure = Failure.of(FailureKind.STATUS, "404 Not Found");

    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(claimed, new Outcome.Dead(failure, false))),
            Set.of(claimed.lease().claim()),
            "node");

    DeadLetterFilter all = DeadLetterFilter.ALL;
    assertThat(world.store.deadLetters().list(World.TENANT, all, 10, null, true).items())
        .extracting(letter -> letter.task().id())
        .containsExactly(id);

    world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, id, "me", null));

    assertThat(world.store.deadLetters().list(World.TENANT, all, 10, null, true).items()).isEmpty();
    ClaimedTask again = world.claimOne("node");
    assertThat(again.id()).isEqualTo(id);
    assertThat(again.attempt()).isEqualTo(1);
    assertThat(again.lease().fence()).isEqualTo(2);
    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(again, new Outcome.Completed(null, null))),
            Set.of(again.lease().claim()),
            "node");
    assertThat(world.tasks.story(World.TENANT, id).orElseThrow().attempts())
        .extracting(TaskStory.Attempt::outcome)
        .containsExactly("DEAD", "COMPLETED");
  }
}
