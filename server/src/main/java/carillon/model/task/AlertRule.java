package carillon.model.task;

import carillon.model.target.Target;
import java.time.Duration;

/**
 * When dead letters that died of the same thing are worth an alert, and who gets it.
 *
 * @param deaths so many. Default 10.
 * @param within in so much time. Default 5 min.
 */
public record AlertRule(Target target, int deaths, Duration within) {

  /** Of the tasks that alert. */
  public static final String TYPE = "carillon.alert";

  public static final int DEFAULT_DEATHS = 10;
  public static final Duration DEFAULT_WITHIN = Duration.ofMinutes(5);

  /** As many are looked at for a death, so this bounds what a death costs. */
  public static final int MAX_DEATHS = 10_000;

  public static final Duration MIN_WITHIN = Duration.ofSeconds(1);
  public static final Duration MAX_WITHIN = Duration.ofDays(7);

  private static final Duration LEAST_QUIET = Duration.ofHours(1);

  /** How long nothing may have died of it before there is a second alert. */
  public Duration quiet() {
    return within.compareTo(LEAST_QUIET) > 0 ? within : LEAST_QUIET;
  }
}
