package carillon.model;

import java.time.Duration;

/**
 * What a node says of its work with every heartbeat, for people.
 *
 * @param inFlight deliveries claimed there and not yet ended
 * @param seats how many there may be
 * @param lag how long the first due task of its lanes has waited
 * @param claimed tasks, since it started
 * @param ended the same
 */
public record Vitals(int inFlight, int seats, Duration lag, long claimed, long ended) {

  /** Of a node that runs no tasks, or does not yet. */
  public static final Vitals NONE = new Vitals(0, 0, Duration.ZERO, 0, 0);
}
