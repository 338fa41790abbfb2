package carillon.engine;

import carillon.delivery.Deliverer;
import carillon.model.NodeLease;
import carillon.testkit.World;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** What a node claims, sends and ends tasks with; whoever made it runs the passes. */
final class NodeByHand implements AutoCloseable {

  final Supplier<NodeLease> lease;
  final Completer completer;
  final Dispatcher dispatcher;
  private final World world;
  private final Consumer<EngineEvent> events;

  NodeByHand(World world, String name, Deliverer deliverer, Consumer<EngineEvent> events) {
    this.world = world;
    this.events = events;
    world.node(name);
    this.lease = () -> NodeLease.renewed(name, System.nanoTime(), Duration.ofMinutes(1));
    this.completer = new Completer(world.endings, lease, events);
    this.dispatcher = new Dispatcher(deliverer, lease, completer, world.clock, events);
  }

  /** One that claims everything, and sends it. */
  Claimer claimer(Seats seats) {
    return claimer(seats, Claimer.Lanes.ALL, dispatcher::send);
  }

  Claimer claimer(Seats seats, Claimer.Lanes lanes, Claimer.Start start) {
    return new Claimer(
        world.queue,
        world.catalog,
        world.agenda,
        world.clock,
        lease,
        seats,
        lanes,
        start,
        completer,
        events);
  }

  @Override
  public void close() {
    dispatcher.interrupt();
    dispatcher.close();
  }
}
