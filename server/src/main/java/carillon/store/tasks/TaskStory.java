package carillon.store.tasks;

import carillon.model.task.TaskState;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A task with its latest attempts and transitions, oldest first.
 *
 * @param olderAttempts where to continue with older attempts; null if these are all
 * @param olderTransitions where to continue with older transitions; null if these are all
 * @param isHeld a node has claimed the task and holds it back until its group of suspects may start
 */
public record TaskStory(
    TaskView task,
    List<Attempt> attempts,
    @Nullable Integer olderAttempts,
    List<Transition> transitions,
    @Nullable Moment olderTransitions,
    boolean isHeld) {

  /**
   * One attempt.
   *
   * @param outcome RUNNING, COMPLETED, RETRIED, RELEASED, DEAD or CANCELLED
   */
  public record Attempt(
      int attempt,
      int fence,
      @Nullable String by,
      @Nullable Instant startedAt,
      @Nullable Instant endedAt,
      String outcome,
      AttemptResult result) {}

  /**
   * One change of state.
   *
   * @param by the actor
   */
  public record Transition(
      Instant at, TaskState from, TaskState to, int fence, String by, @Nullable String reason) {

    Moment moment() {
      return new Moment(fence, at);
    }
  }

  /** When something happened to a task. The fence comes first, because clocks may go back. */
  public record Moment(int fence, Instant at) {

    static final Moment END = new Moment(Integer.MAX_VALUE, Instant.parse("9999-01-01T00:00:00Z"));
  }
}
