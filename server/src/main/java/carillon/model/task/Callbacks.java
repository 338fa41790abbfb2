package carillon.model.task;

import carillon.model.target.Target;
import org.jspecify.annotations.Nullable;

/**
 * Who is told how a task ended. What is null follows the type; where that has none, nobody is told.
 */
public record Callbacks(@Nullable Target onComplete, @Nullable Target onDead) {

  /** Of the tasks that tell it. */
  public static final String TYPE = "carillon.callback";

  public static final Callbacks NONE = new Callbacks(null, null);

  /** Who is told of this end; null if nobody. */
  public @Nullable Target of(TaskState end) {
    return switch (end) {
      case COMPLETED -> onComplete;
      case DEAD -> onDead;
      case PENDING, RUNNING, CANCELLED, EXPIRED -> null;
    };
  }
}
