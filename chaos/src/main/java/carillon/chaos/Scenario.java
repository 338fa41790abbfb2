package carillon.chaos;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.faults.PlannedFault;
import carillon.chaos.load.Load;
import carillon.chaos.load.RandomStreams;
import java.time.Duration;
import java.util.List;

/**
 * The plan of a run: the nodes, their load, and the faults with their times.
 *
 * @param name of its directory and database: lower-case letters, digits and underscores
 * @param warm duration without faults at the start
 * @param safety duration of the phase with faults
 * @param faults during the safety phase
 * @param liveness duration of the phase with one permanently isolated node; zero for none
 * @param drain how long the remaining tasks may take to end
 */
public record Scenario(
    String name,
    long seed,
    Cluster.Settings cluster,
    Load.Profile load,
    Duration warm,
    Duration safety,
    List<PlannedFault> faults,
    Duration liveness,
    Duration drain) {

  private static final Duration DRAIN = Duration.ofSeconds(60);

  /** The standard scenario: all kinds of faults, planned by the seed. */
  public static Scenario ofSeed(
      long seed, Cluster.Settings cluster, Load.Profile load, Duration safety, Duration liveness) {
    return new Scenario(
        "seed_" + Long.toUnsignedString(seed),
        seed,
        cluster,
        load,
        Duration.ofSeconds(5),
        safety,
        PlannedFault.plan(new RandomStreams(seed).of("nemesis"), safety, cluster.nodes()),
        liveness,
        DRAIN);
  }

  /** A scenario with these faults only. */
  public static Scenario directed(
      String name,
      long seed,
      Cluster.Settings cluster,
      Load.Profile load,
      Duration safety,
      List<PlannedFault> faults) {
    return new Scenario(
        name,
        seed,
        cluster,
        load,
        Duration.ofSeconds(1),
        safety,
        faults,
        Duration.ZERO,
        Duration.ofSeconds(15));
  }
}
