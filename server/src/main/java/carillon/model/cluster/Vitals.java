package carillon.model.cluster;

import java.time.Duration;

/**
 * What a node reports about its work with every heartbeat; shown on the cluster page.
 *
 * @param inFlight deliveries that are claimed and have not ended
 * @param seats how many deliveries may be in flight
 * @param lag how long the longest-waiting due task of its lanes has waited
 * @param claimed tasks claimed since the node started
 * @param ended tasks ended since the node started
 * @param suspects tasks that run in small groups, because a node crashed while it ran them
 */
public record Vitals(
    int inFlight, int seats, Duration lag, long claimed, long ended, Suspects suspects) {

  /** How many suspects wait for their group, claimed or not, and how many run. */
  public record Suspects(int waiting, int running) {

    public static final Suspects NONE = new Suspects(0, 0);

    /** The suspects of two nodes together. */
    public Suspects plus(Suspects other) {
      return new Suspects(waiting + other.waiting, running + other.running);
    }
  }

  /** The vitals of a node that runs no tasks, or has not started to. */
  public static final Vitals NONE = new Vitals(0, 0, Duration.ZERO, 0, 0, Suspects.NONE);
}
