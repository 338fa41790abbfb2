package carillon.client;

import org.jspecify.annotations.Nullable;

/** Thrown by a handler: no further attempt could succeed, so the task goes to the dead letters. */
public final class DeadTask extends RuntimeException {

  private static final long serialVersionUID = 1;

  /**
   * @param message why, shown with the dead letter
   */
  public DeadTask(String message) {
    super(message);
  }

  /**
   * @param message why, shown with the dead letter
   * @param cause what is behind it, for logs of yours
   */
  public DeadTask(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
