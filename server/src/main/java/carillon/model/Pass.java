package carillon.model;

import java.time.Duration;

/**
 * How one pass of a loop went.
 *
 * @param delay before the next one; zero means at once
 * @param isProof whether the pass did its work. One that found nothing to do, or left the work to
 *     others, does not show that the work can be done
 */
public record Pass(Duration delay, boolean isProof) {

  public static Pass done(Duration delay) {
    return new Pass(delay, true);
  }

  public static Pass skipped(Duration delay) {
    return new Pass(delay, false);
  }
}
