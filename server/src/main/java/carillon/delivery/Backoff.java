package carillon.delivery;

import java.time.Duration;

/** The pauses between attempts to reach a broker: each is twice the one before, up to 5 s. */
public final class Backoff {

  private static final Duration FIRST = Duration.ofMillis(500);
  private static final Duration MAX = Duration.ofSeconds(5);

  private Backoff() {}

  /**
   * The next pause.
   *
   * @param last zero before the first pause
   */
  public static Duration after(Duration last) {
    if (last.isZero()) {
      return FIRST;
    }
    Duration twice = last.multipliedBy(2);
    return twice.compareTo(MAX) < 0 ? twice : MAX;
  }
}
