package carillon.model.task;

import carillon.model.target.Target;
import java.time.Duration;

/**
 * When dead letters with the same cause raise an alert, and the target that receives it.
 *
 * @param deaths how many dead letters raise an alert. Default 10.
 * @param within the time in which they must occur. Default 5 min.
 */
public record AlertRule(Target target, int deaths, Duration within) {

  /** The type of the tasks that deliver alerts. */
  public static final String TYPE = "carillon.alert";

  public static final int DEFAULT_DEATHS = 10;
  public static final Duration DEFAULT_WITHIN = Duration.ofMinutes(5);

  /** Each death counts up to this many dead letters, so it bounds the cost of a death. */
  public static final int MAX_DEATHS = 10_000;

  public static final Duration MIN_WITHIN = Duration.ofSeconds(1);
  public static final Duration MAX_WITHIN = Duration.ofDays(7);

  private static final Duration MIN_QUIET = Duration.ofHours(1);

  /** How long the cause must produce no dead letters before it raises a second alert. */
  public Duration quiet() {
    return within.compareTo(MIN_QUIET) > 0 ? within : MIN_QUIET;
  }
}
