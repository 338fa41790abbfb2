package carillon.model.task;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** What one attempt means for its task, decided before anything is written. */
public sealed interface Outcome {

  record Completed(@Nullable Integer status, @Nullable String output) implements Outcome {}

  record RetryAt(Instant readyAt, Failure failure) implements Outcome {}

  /**
   * Failed for the last time.
   *
   * @param pausesType whether to pause the type as well, because its target is gone
   */
  record Dead(Failure failure, boolean pausesType) implements Outcome {}

  /**
   * The task returns to PENDING, and the attempt does not count.
   *
   * @param readyAt the earliest start of the next attempt; null means now
   */
  record Released(Failure why, @Nullable Instant readyAt) implements Outcome {

    public Released(Failure why) {
      this(why, null);
    }
  }

  /**
   * The state that follows, unless a cancel was requested meanwhile: then PENDING becomes
   * CANCELLED.
   */
  default TaskState nextState() {
    return switch (this) {
      case Completed _ -> TaskState.COMPLETED;
      case RetryAt _, Released _ -> TaskState.PENDING;
      case Dead _ -> TaskState.DEAD;
    };
  }
}
