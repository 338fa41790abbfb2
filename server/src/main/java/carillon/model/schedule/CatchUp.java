package carillon.model.schedule;

import java.time.Duration;

/**
 * What a schedule does about fires that nobody made in time.
 *
 * @param limit most that ALL makes up for
 * @param window what is older is not made up for
 */
public record CatchUp(Rule rule, int limit, Duration window) {

  public static final CatchUp DEFAULT = new CatchUp(Rule.LAST, 100, Duration.ofDays(7));

  /** Which of them become tasks after all. */
  public enum Rule {
    NONE,
    LAST,
    ALL
  }
}
