package carillon.delivery;

import java.time.Duration;

/** The pauses between looks at a broker that does not answer: each twice the last. */
public final class Backoff {

  private static final Duration FIRST = Duration.ofMillis(500);
  private static final Duration LONGEST = Duration.ofSeconds(5);

  private Backoff() {}

  /**
   * The next pause.
   *
   * @param last zero if there was none yet
   */
  public static Duration after(Duration last) {
    if (last.isZero()) {
      return FIRST;
    }
    Duration twice = last.multipliedBy(2);
    return twice.compareTo(LONGEST) < 0 ? twice : LONGEST;
  }
}
