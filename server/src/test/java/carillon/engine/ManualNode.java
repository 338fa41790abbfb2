package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.delivery.Deliverer;
import carillon.model.cluster.NodeLease;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.store.queue.WorkQueue.Claimant;
import carillon.testkit.World;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The parts of a node that claim, send and save tasks. Tests run their passes. */
final class ManualNode implements AutoCloseable {

  final Supplier<NodeLease> lease;
  final OpenClaims openClaims = new OpenClaims();
  final Completer completer;
  final Dispatcher dispatcher;

  /** Called with attempts that need no more saving, perhaps because they cannot be saved. */
  final List<Consumer<List<Attempted>>> onSaved = new CopyOnWriteArrayList<>();

  /** How often a pass of the claimer or the completer reported progress. */
  final AtomicInteger progress = new AtomicInteger();

  private final World world;
  private final Consumer<EngineEvent> events;

  ManualNode(World world, String name, Deliverer deliverer, Consumer<EngineEvent> events) {
    this(world, leaseOfAMinute(world, name), deliverer, events);
  }

  ManualNode(
      World world, Supplier<NodeLease> lease, Deliverer deliverer, Consumer<EngineEvent> events) {
    this.world = world;
    this.events = events;
    this.lease = lease;
    this.completer =
        new Completer(
            world.store.outcomes(),
            openClaims,
            lease,
            new Completer.Hooks(
                () -> {},
                attempts -> onSaved.forEach(listener -> listener.accept(attempts)),
                progress::incrementAndGet,
                events));
    this.dispatcher = new Dispatcher(deliverer, lease, completer, world.clock, events);
  }

  private static Supplier<NodeLease> leaseOfAMinute(World world, String name) {
    world.node(name);
    return () -> NodeLease.renewed(name, System.nanoTime(), Duration.ofMinutes(1));
  }

  /** Returns a claimer of all lanes that sends every task. */
  Claimer claimer(Seats seats) {
    return claimer(seats, Claimer.Lanes.ALL, dispatcher::send);
  }

  /** Starts tasks that this node has claimed. */
  interface Start {
    void start(List<ClaimedTask> tasks, String node);
  }

  Claimer claimer(Seats seats, Claimer.Lanes lanes, Start start) {
    return claimer(seats, lanes, new Starter(start));
  }

  Claimer claimer(Seats seats, Claimer.Lanes lanes, TaskStarter starter) {
    return new Claimer(
        world.store,
        lease,
        new Claimer.Workload(lanes, seats, starter),
        openClaims,
        new Claimer.Hooks(progress::incrementAndGet, events));
  }

  /** Registers a claim made outside of this node's claimer, whose tasks end at its completer. */
  void expect(UUID claim, int tasks, Seats seats) {
    assertThat(seats.tryTake(tasks)).isTrue();
    openClaims.opened(claim, tasks, seats);
  }

  private record Starter(Start start) implements TaskStarter {

    @Override
    public boolean startsImmediately() {
      return true;
    }

    @Override
    public Claimant claimant(UUID claim, String node, @Nullable Duration consumerLease) {
      return Claimant.node(claim, node, Integer.MAX_VALUE);
    }

    @Override
    public void start(List<ClaimedTask> tasks, String node) {
      start.start(tasks, node);
    }
  }

  @Override
  public void close() {
    dispatcher.interrupt();
    dispatcher.close();
  }

  /** One pass of the search for claims that this node does not know. */
  void findLostClaims() {
    new LostClaims(
            world.store.claims(),
            lease,
            openClaims::isKnown,
            new ReapDecision(world.clock, 3),
            _ -> {})
        .findOnce();
  }
}
