package carillon.client;

import java.time.Duration;

/** Thrown by a handler: this attempt failed, and the next shall not start before some time. */
public final class RetryLater extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final Duration after;

  /**
   * @param message why, shown with the task
   * @param after how long to wait at least, up to a day
   */
  public RetryLater(String message, Duration after) {
    super(message);
    this.after = after;
  }

  /** How long to wait at least. */
  public Duration after() {
    return after;
  }
}
