package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.task.TaskState;
import carillon.store.db.Transitions;
import carillon.store.tasks.Counters.ClaimEnd;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A saved task.
 *
 * @param callback the task's own callback for its new state
 * @param letter its dead letter, if it is dead
 */
record EndedTask(
    TaskId id,
    Partition partition,
    int lane,
    TaskState state,
    @Nullable Instant readyAt,
    int attempt,
    boolean keyed,
    boolean released,
    @Nullable String failure,
    @Nullable String callback,
    @Nullable Letter letter)
    implements Transitions.Move {

  /** What a dead letter adds to its task. */
  record Letter(@Nullable Integer status, @Nullable String error, @Nullable String key) {}

  static EndedTask completed(
      TaskId id,
      Partition partition,
      int lane,
      int attempt,
      boolean keyed,
      @Nullable String callback) {
    return new EndedTask(
        id,
        partition,
        lane,
        TaskState.COMPLETED,
        null,
        attempt,
        keyed,
        false,
        null,
        callback,
        null);
  }

  @Override
  public TaskState from() {
    return TaskState.RUNNING;
  }

  @Override
  public TaskState to() {
    return state;
  }

  @Override
  public boolean isReleased() {
    return released;
  }

  ClaimEnd end() {
    return switch (state) {
      case COMPLETED -> ClaimEnd.COMPLETED;
      case DEAD -> ClaimEnd.DEAD;
      case CANCELLED -> ClaimEnd.CANCELLED;
      case PENDING, RUNNING, EXPIRED -> released ? ClaimEnd.RELEASED : ClaimEnd.RETRIED;
    };
  }
}
