package carillon.engine;

import carillon.delivery.Deliverer;
import carillon.model.NodeLease;
import carillon.store.Agenda;
import carillon.store.Catalog;
import carillon.store.DbClock;
import carillon.store.Endings;
import carillon.store.WorkQueue;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The loops that run tasks on one node, started and stopped together. */
public final class Engine {

  /** One that is being claimed, one that is being written, and one between them. */
  private static final int KEPT_BATCHES = 3;

  /** How long a stop waits for outcomes to be written. */
  private static final Duration WRITING = Duration.ofSeconds(5);

  private final Claimer.Room room;
  private final Dispatcher dispatcher;
  private final Completer completer;
  private final Duration drainTimeout;
  private final Loop sweeping;
  private final Loop claiming;
  private final Loop completing;

  /** What the engine needs of the store. */
  public record Store(
      WorkQueue queue, Endings endings, Catalog catalog, Agenda agenda, DbClock clock) {}

  private Engine(
      Store store,
      Deliverer deliverer,
      Supplier<NodeLease> node,
      EngineConfig config,
      Consumer<EngineEvent> events) {
    this.drainTimeout = config.drainTimeout();
    this.room =
        new Claimer.Room(
            new Seats(config.concurrency()),
            new Seats(KEPT_BATCHES * Claimer.MAX_BATCH, Claimer.MAX_BATCH));
    this.completer = new Completer(store.endings(), node, events);
    this.dispatcher = new Dispatcher(deliverer, node, completer, store.clock(), events);
    var claimer =
        new Claimer(
            store.queue(),
            store.catalog(),
            store.agenda(),
            store.clock(),
            node,
            room,
            dispatcher,
            completer,
            events);
    var sweeper = new Sweeper(store.queue(), store.clock());
    Consumer<String> whenFailed = loop -> events.accept(new EngineEvent.PassFailed(loop));
    this.sweeping = new Loop("sweeper", sweeper::sweepOnce, whenFailed);
    this.claiming = new Loop("claimer", claimer::claimOnce, whenFailed);
    this.completing = new Loop("completer", completer::flushOnce, whenFailed);
    store.agenda().whenEarlier(claiming::wake);
    store.catalog().whenChanged(claiming::wake);
    room.sent().whenFreed(claiming::wake);
    room.kept().whenFreed(claiming::wake);
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
    engine.sweeping.start();
    return engine;
  }

  /** Tasks that are claimed here and whose outcome is not written yet. */
  public int inFlight() {
    return room.sent().taken() + room.kept().taken();
  }

  /** How many deliveries may run at once. */
  public int seats() {
    return room.sent().all();
  }

  /** Whether a claim that the database knows is one that this engine knows of too. */
  public boolean isKnown(UUID claim) {
    return completer.isKnown(claim);
  }

  /** From now on nothing new is started. */
  public void stopClaiming() {
    sweeping.stop();
    claiming.stop();
  }

  /**
   * Producers stop before what they feed. What still runs after the grace is interrupted and goes
   * back to PENDING; the completer stops last, because everything ends there.
   */
  public void stop() throws InterruptedException {
    stopClaiming();
    sweeping.close();
    claiming.close();
    if (!room.sent().awaitEmpty(drainTimeout)) {
      dispatcher.interrupt();
    }
    dispatcher.close();
    boolean _ = room.sent().awaitEmpty(WRITING);
    boolean _ = room.kept().awaitEmpty(WRITING);
    completing.close();
  }
}
