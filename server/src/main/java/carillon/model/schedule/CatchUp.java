package carillon.model.schedule;

import java.time.Duration;

/**
 * What a schedule does about nominal times that it missed.
 *
 * @param limit the maximum number that ALL catches up
 * @param window older times are not caught up
 */
public record CatchUp(Rule rule, int limit, Duration window) {

  public static final CatchUp DEFAULT = new CatchUp(Rule.LAST, 100, Duration.ofDays(7));

  /** Which of the missed times become tasks. */
  public enum Rule {
    NONE,
    LAST,
    ALL
  }
}
