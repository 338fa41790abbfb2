package carillon.client;

import java.time.Duration;

/** Thrown by a handler to fail the attempt and delay the next one. */
public final class RetryLater extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final Duration after;

  /**
   * @param message the reason, shown with the task
   * @param after minimum delay, up to a day
   */
  public RetryLater(String message, Duration after) {
    super(message);
    this.after = after;
  }

  /** The minimum delay. */
  public Duration after() {
    return after;
  }
}
