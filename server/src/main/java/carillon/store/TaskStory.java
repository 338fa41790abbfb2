package carillon.store;

import carillon.model.FailureKind;
import carillon.model.TaskState;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A task with everything that happened to it, oldest first; at most the newest 1,000 of each. */
public record TaskStory(TaskView task, List<Attempt> attempts, List<Transition> transitions) {

  /**
   * One try.
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
      @Nullable FailureKind failure,
      @Nullable Integer status,
      @Nullable String error,
      @Nullable String output) {}

  /** One change of state, and who made it. */
  public record Transition(
      Instant at, TaskState from, TaskState to, int fence, String by, @Nullable String reason) {}
}
