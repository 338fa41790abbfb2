package carillon.model.cluster;

import java.time.Duration;

/**
 * What a node says of its work with every heartbeat, for people.
 *
 * @param inFlight deliveries claimed there and not yet ended
 * @param seats how many there may be
 * @param lag how long the first due task of its lanes has waited
 * @param claimed tasks, since it started
 * @param ended the same
 * @param suspects tasks that it runs in small groups, because a node died while it ran them
 */
public record Vitals(
    int inFlight, int seats, Duration lag, long claimed, long ended, Suspects suspects) {

  /** How many suspects wait for their group, in its hands or in its lanes, and how many run. */
  public record Suspects(int waiting, int running) {

    public static final Suspects NONE = new Suspects(0, 0);

    /** The suspects of two nodes together. */
    public Suspects plus(Suspects other) {
      return new Suspects(waiting + other.waiting, running + other.running);
    }
  }

  /** Of a node that runs no tasks, or does not yet. */
  public static final Vitals NONE = new Vitals(0, 0, Duration.ZERO, 0, 0, Suspects.NONE);
}
