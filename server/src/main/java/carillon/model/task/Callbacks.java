package carillon.model.task;

import carillon.model.target.Target;
import org.jspecify.annotations.Nullable;

/**
 * The targets that are called when a task ends. A null one falls back to the type's; if that is
 * null too, there is no callback.
 */
public record Callbacks(@Nullable Target onComplete, @Nullable Target onDead) {

  /** The type of the tasks that deliver callbacks. */
  public static final String TYPE = "carillon.callback";

  public static final Callbacks NONE = new Callbacks(null, null);

  /** The target called when a task ends in this state; null if there is none. */
  public @Nullable Target of(TaskState end) {
    return switch (end) {
      case COMPLETED -> onComplete;
      case DEAD -> onDead;
      case PENDING, RUNNING, CANCELLED, EXPIRED -> null;
    };
  }
}
