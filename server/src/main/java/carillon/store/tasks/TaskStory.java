package carillon.store.tasks;

import carillon.model.task.FailureKind;
import carillon.model.task.TaskState;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A task with what happened to it last, oldest first.
 *
 * @param olderAttempts where the list of attempts, newest first, goes on; null if these are all
 * @param olderTransitions where the list of transitions goes on; null if these are all
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
   * One try.
   *
   * @param outcome RUNNING, COMPLETED, RETRIED, RELEASED, DEAD or CANCELLED
   * @param request what was sent, as JSON without secrets; null if nothing, or if it is not known
   */
  public record Attempt(
      int attempt,
      int fence,
      @Nullable String by,
      @Nullable Instant startedAt,
      @Nullable Instant endedAt,
      String outcome,
      @Nullable FailureKind failure,
      @Nullable Integer status,
      @Nullable String error,
      @Nullable String output,
      @Nullable String request) {}

  /** One change of state, and who made it. */
  public record Transition(
      Instant at, TaskState from, TaskState to, int fence, String by, @Nullable String reason) {

    Moment moment() {
      return new Moment(fence, at);
    }
  }

  /** When something happened to a task: fences rise with time, also where clocks do not. */
  public record Moment(int fence, Instant at) {

    static final Moment END = new Moment(Integer.MAX_VALUE, Instant.parse("9999-01-01T00:00:00Z"));
  }
}
