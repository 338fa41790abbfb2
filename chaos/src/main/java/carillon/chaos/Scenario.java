package carillon.chaos;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.faults.PlannedFault;
import carillon.chaos.load.Load;
import carillon.chaos.load.Streams;
import java.time.Duration;
import java.util.List;

/**
 * A run before it happens: what is started, who uses it, and what breaks when.
 *
 * @param name of its directory and its database: small letters, digits and underscores
 * @param warm how long nothing breaks at first
 * @param safety how long faults happen
 * @param faults these faults
 * @param liveness how long one node is cut off for good afterwards; zero for not at all
 * @param drain how long what is left may take to end
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

  /** The usual: all kinds of faults, as the seed has it. */
  public static Scenario ofSeed(
      long seed, Cluster.Settings cluster, Load.Profile load, Duration safety, Duration liveness) {
    return new Scenario(
        "seed_" + Long.toUnsignedString(seed),
        seed,
        cluster,
        load,
        Duration.ofSeconds(5),
        safety,
        PlannedFault.plan(new Streams(seed).of("nemesis"), safety, cluster.nodes()),
        liveness,
        DRAIN);
  }

  /** With chosen faults only. */
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
