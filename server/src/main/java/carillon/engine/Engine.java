package carillon.engine;

import carillon.delivery.Deliverer;
import carillon.model.NodeLease;
import carillon.store.Agenda;
import carillon.store.Catalog;
import carillon.store.Claims;
import carillon.store.DbClock;
import carillon.store.Endings;
import carillon.store.Nodes;
import carillon.store.Replies;
import carillon.store.Slots;
import carillon.store.UniqueTasks;
import carillon.store.WorkQueue;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The loops of one node, started and stopped together. */
public final class Engine {

  private final Seats seats;
  private final Dispatcher dispatcher;
  private final Completer completer;
  private final Duration drainTimeout;
  private final Loop claiming;
  private final Loop completing;
  private final Loop reaping;
  private final Loop cleaning;

  /** What the engine needs of the store. */
  public record Store(
      WorkQueue queue,
      Endings endings,
      Claims claims,
      Nodes nodes,
      Slots slots,
      Replies replies,
      UniqueTasks uniqueTasks,
      Catalog catalog,
      Agenda agenda,
      DbClock clock) {}

  private Engine(
      Store store,
      Deliverer deliverer,
      Supplier<NodeLease> node,
      EngineConfig config,
      Consumer<EngineEvent> events) {
    this.drainTimeout = config.drainTimeout();
    this.seats = new Seats(config.concurrency());
    this.completer = new Completer(store.endings(), node, seats, events);
    this.dispatcher = new Dispatcher(deliverer, node, completer, store.clock(), events);
    var claimer =
        new Claimer(
            store.queue(),
            store.catalog(),
            store.agenda(),
            store.clock(),
            node,
            seats,
            dispatcher,
            events);
    var reaper = new Reaper(store.claims(), store.queue(), store.nodes(), store.clock(), events);
    var janitor =
        new Janitor(
            store.slots(), store.replies(), store.uniqueTasks(), store.clock(), config.retention());
    Consumer<String> whenFailed = loop -> events.accept(new EngineEvent.PassFailed(loop));
    this.claiming = new Loop("claimer", claimer::claimOnce, whenFailed);
    this.completing = new Loop("completer", completer::flushOnce, whenFailed);
    this.reaping = new Loop("reaper", reaper::reapOnce, whenFailed);
    this.cleaning = new Loop("janitor", janitor::cleanOnce, whenFailed);
    store.agenda().whenEarlier(claiming::wake);
    seats.whenFreed(claiming::wake);
    completer.whenAdded(completing::wake);
  }

  public static Engine start(
      Store store,
      Deliverer deliverer,
      Supplier<NodeLease> node,
      EngineConfig config,
      Consumer<EngineEvent> events) {
    Engine engine = new Engine(store, deliverer, node, config, events);
    engine.completing.start();
    engine.claiming.start();
    engine.reaping.start();
    engine.cleaning.start();
    return engine;
  }

  /** Tasks that are claimed here and whose outcome is not written yet. */
  public int inFlight() {
    return seats.taken();
  }

  public int seats() {
    return seats.all();
  }

  /**
   * Producers stop before what they feed. What still runs after the grace is interrupted and goes
   * back to PENDING; the completer stops last, because everything ends there.
   */
  public void stop() throws InterruptedException {
    claiming.close();
    reaping.close();
    cleaning.close();
    if (!seats.awaitEmpty(drainTimeout)) {
      dispatcher.interrupt();
    }
    dispatcher.close();
    boolean _ = seats.awaitEmpty(Duration.ofSeconds(5));
    completing.close();
  }
}
