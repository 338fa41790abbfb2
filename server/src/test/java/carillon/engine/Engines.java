package carillon.engine;

import carillon.model.cluster.ClusterView;
import carillon.model.cluster.NodeLease;
import carillon.testkit.World;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Starts engines on the store of a {@link World}. */
final class Engines {

  private Engines() {}

  /** The engine of a node whose lease never lapses. */
  static Engine start(
      World world,
      String node,
      Engine.Transports transports,
      Supplier<ClusterView> view,
      EngineConfig config,
      Consumer<EngineEvent> events) {
    return Engine.start(
        world.store,
        transports,
        new Engine.ThisNode(
            () -> NodeLease.renewed(node, System.nanoTime(), Duration.ofMinutes(1)), view),
        config,
        world.signals,
        events);
  }
}
