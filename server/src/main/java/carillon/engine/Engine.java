package carillon.engine;

import carillon.delivery.Deliverer;
import carillon.model.NodeLease;
import carillon.store.Agenda;
import carillon.store.Catalog;
import carillon.store.DbClock;
import carillon.store.Endings;
import carillon.store.Nodes;
import carillon.store.WorkQueue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.function.Supplier;

/** The loops that run tasks on one node, started and stopped together. */
public final class Engine {

  /**
   * One claims what is sent. What is only kept has claimers of its own, each with a part of the
   * lanes: there the claim itself is the work, and one connection alone cannot do more of it.
   */
  private static final int KEEPERS = 2;

  /** One that is being claimed, one that is being written, and one between them. */
  private static final int KEPT_BATCHES = 3;

  /** While most of the seats for deliveries are taken, this part of them is worth a claim. */
  private static final int WORTHWHILE_PART = 4;

  /** Between two flushes, so that outcomes that come one by one are written together. */
  private static final Duration GATHERING = Duration.ofMillis(3);

  /** How long a stop waits for outcomes to be written. */
  private static final Duration WRITING = Duration.ofSeconds(5);

  private final Store store;
  private final Supplier<NodeLease> node;
  private final Consumer<EngineEvent> events;
  private final Duration drainTimeout;
  private final Dispatcher dispatcher;
  private final Completer completer;
  private final Suspects suspects;
  private final Seats sent;
  private final List<Seats> kept = new ArrayList<>();
  private final List<Loop> claiming = new ArrayList<>();
  private final Loop sweeping;
  private final Loop completing;
  private final Loop startingSuspects;

  /** What the engine needs of the store. */
  public record Store(
      WorkQueue queue,
      Endings endings,
      Catalog catalog,
      Agenda agenda,
      DbClock clock,
      Nodes nodes) {}

  private Engine(
      Store store,
      Deliverer deliverer,
      Supplier<NodeLease> node,
      EngineConfig config,
      Consumer<EngineEvent> events) {
    this.store = store;
    this.node = node;
    this.events = events;
    this.drainTimeout = config.drainTimeout();
    this.completer = new Completer(store.endings(), node, events);
    this.dispatcher = new Dispatcher(deliverer, node, completer, store.clock(), events);
    this.suspects = new Suspects(store.nodes(), dispatcher, config.poisonCrashes());
    this.startingSuspects = loop("suspects", suspects::startOnce, Duration.ZERO);
    suspects.whenChanged(startingSuspects::wake);
    completer.whenWritten(suspects::ended);
    this.completing = loop("completer", completer::flushOnce, GATHERING);
    this.sweeping =
        loop("sweeper", new Sweeper(store.queue(), store.clock())::sweepOnce, Duration.ZERO);
    completer.whenAdded(completing::wake);

    Catalog catalog = store.catalog();
    this.sent =
        new Seats(config.concurrency(), Math.max(1, config.concurrency() / WORTHWHILE_PART));
    addClaimer("claimer", sent, lane -> !catalog.isKeptNow(lane), suspects);
    for (int i = 0; i < KEEPERS; i++) {
      int part = i;
      Seats seats = new Seats(KEPT_BATCHES * Claimer.MAX_BATCH, Claimer.MAX_BATCH);
      kept.add(seats);
      addClaimer(
          "claimer-kept-" + i,
          seats,
          lane -> lane % KEEPERS == part && catalog.isKeptNow(lane),
          (tasks, _) -> dispatcher.keep(tasks));
    }
    store.agenda().whenEarlier(this::wakeClaimers);
    catalog.whenChanged(this::wakeClaimers);
  }

  private void addClaimer(String name, Seats seats, IntPredicate lanes, Claimer.Start start) {
    var claimer =
        new Claimer(
            store.queue(),
            store.catalog(),
            store.agenda(),
            store.clock(),
            node,
            seats,
            lanes,
            start,
            completer,
            events);
    Loop loop = loop(name, claimer::claimOnce, Duration.ZERO);
    seats.whenFreed(loop::wake);
    claiming.add(loop);
  }

  private Loop loop(String name, Supplier<Duration> pass, Duration rest) {
    return new Loop(name, pass, rest, failed -> events.accept(new EngineEvent.PassFailed(failed)));
  }

  private void wakeClaimers() {
    claiming.forEach(Loop::wake);
  }

  public static Engine start(
      Store store,
      Deliverer deliverer,
      Supplier<NodeLease> node,
      EngineConfig config,
      Consumer<EngineEvent> events) {
    Engine engine = new Engine(store, deliverer, node, config, events);
    engine.completing.start();
    engine.startingSuspects.start();
    engine.claiming.forEach(Loop::start);
    engine.sweeping.start();
    return engine;
  }

  /** Deliveries that were claimed here and whose outcome is not written yet. */
  public int inFlight() {
    return sent.taken();
  }

  /** How many deliveries may run at once. */
  public int seats() {
    return sent.all();
  }

  /** Whether a claim that the database knows is one that this engine knows of too. */
  public boolean isKnown(UUID claim) {
    return completer.isKnown(claim);
  }

  /** From now on nothing new is started. */
  public void stopClaiming() {
    sweeping.stop();
    claiming.forEach(Loop::stop);
  }

  /**
   * Producers stop before what they feed. What still runs after the grace is interrupted and goes
   * back to PENDING; the completer stops last, because everything ends there.
   */
  public void stop() throws InterruptedException {
    stopClaiming();
    sweeping.close();
    claiming.forEach(Loop::close);
    suspects.close();
    startingSuspects.close();
    if (!sent.awaitEmpty(drainTimeout)) {
      dispatcher.interrupt();
    }
    dispatcher.close();
    boolean _ = sent.awaitEmpty(WRITING);
    for (Seats seats : kept) {
      boolean _ = seats.awaitEmpty(WRITING);
    }
    completing.close();
  }
}
