package carillon.client;

import org.jspecify.annotations.Nullable;

/** Thrown by a handler to dead-letter the task, because no further attempt could succeed. */
public final class DeadTask extends RuntimeException {

  private static final long serialVersionUID = 1;

  /**
   * @param message the reason, shown with the dead letter
   */
  public DeadTask(String message) {
    super(message);
  }

  /**
   * @param message the reason, shown with the dead letter
   * @param cause for your own logs
   */
  public DeadTask(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
