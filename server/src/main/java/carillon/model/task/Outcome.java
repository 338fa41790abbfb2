package carillon.model.task;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** What one attempt amounts to, decided before anything is written. */
public sealed interface Outcome {

  record Completed(@Nullable Integer status, @Nullable String output) implements Outcome {}

  record RetryAt(Instant readyAt, Failure failure) implements Outcome {}

  /**
   * Failed for the last time.
   *
   * @param pausesType the target is gone, so the type is paused with it where the target is the
   *     type's own
   */
  record Dead(Failure failure, boolean pausesType) implements Outcome {}

  /**
   * Goes back as it was, and the attempt does not count.
   *
   * @param readyAt not before that; null means at once
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
