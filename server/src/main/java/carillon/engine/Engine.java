package carillon.engine;

import carillon.delivery.Deliverer;
import carillon.delivery.Publisher;
import carillon.model.Signal;
import carillon.model.Signals;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Shards;
import carillon.model.target.BrokerName;
import carillon.model.task.Attempted;
import carillon.model.task.Lane;
import carillon.store.EngineStore;
import carillon.store.catalog.Catalog;
import carillon.store.queue.WorkQueue;
import carillon.store.tasks.TaskInserts;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The loops that run tasks on one node, started and stopped together. */
public final class Engine implements TaskInserts.ImmediateClaims {

  /**
   * Discarded tasks have claimers of their own, each with a part of the lanes: there the claim
   * itself is the work, and one connection cannot do more of it.
   */
  private static final int DISCARD_CLAIMERS = 2;

  /** One batch is being claimed, one is being saved or sent, and one waits between them. */
  private static final int BATCHES = 3;

  /** While most seats are taken, a claim waits until a quarter of them is free. */
  private static final int MIN_BATCH_PART = 4;

  /** Pause between two flushes, so that outcomes that come one by one are saved together. */
  private static final Duration FLUSH_PAUSE = Duration.ofMillis(3);

  /** How long a stop waits for outcomes to be saved. */
  private static final Duration SAVE_TIMEOUT = Duration.ofSeconds(5);

  /** A claim whose response was lost is committed within this time, or never. */
  private static final Duration MAX_COMMIT_DELAY = Duration.ofSeconds(30);

  /** Pause between two sweeps, however often shards move to this node. */
  private static final Duration SWEEP_PAUSE = Duration.ofMillis(100);

  private final EngineStore store;
  private final Supplier<NodeLease> node;
  private final Supplier<ClusterView> view;
  private final AtomicLong shards; // at the last change of the cluster
  private final Consumer<EngineEvent> events;
  private final EngineConfig config;
  private final Dispatcher dispatcher;
  private final OpenClaims openClaims = new OpenClaims();
  private final Signal outcomeAdded = new Signal();
  private final Completer completer;
  private final Suspects suspects;
  private final Seats sent;
  private final List<Seats> discarded = new ArrayList<>();
  private final List<BrokerOutlet> outlets = new ArrayList<>();
  private final List<Claimer> claimers = new ArrayList<>();
  private final List<Loop> claiming = new ArrayList<>();
  private final Loop sweeping;
  private final Loop completing;
  private final Loop startingSuspects;
  private final Loop findingLost;
  private volatile boolean isStopping;

  /**
   * This node in the cluster.
   *
   * @param lease the lease under which it claims
   * @param view the lanes that it owns
   */
  public record ThisNode(Supplier<NodeLease> lease, Supplier<ClusterView> view) {}

  /**
   * How tasks leave this node.
   *
   * @param publishers one for each broker cluster; closed when the engine stops
   */
  public record Transports(Deliverer deliverer, List<Publisher> publishers) {

    public Transports {
      publishers = List.copyOf(publishers);
    }
  }

  /** The state of a broker cluster that this node publishes to. */
  public interface Broker {
    BrokerName name();

    boolean isReachable();

    int inFlight();

    /** Messages that the broker has confirmed. */
    long published();

    /** Messages waiting, by queue or consumer group. */
    Map<String, Long> depths();
  }

  /** A publisher with its own seats, so that a slow broker does not delay other deliveries. */
  private record BrokerOutlet(Publisher publisher, BrokerStarter starter, Seats seats)
      implements Broker {

    @Override
    public BrokerName name() {
      return publisher.name();
    }

    @Override
    public boolean isReachable() {
      return publisher.isReachable();
    }

    @Override
    public int inFlight() {
      return seats.running() + seats.waitingToBeSaved();
    }

    @Override
    public long published() {
      return starter.published();
    }

    @Override
    public Map<String, Long> depths() {
      return publisher.depths();
    }
  }

  private Engine(
      EngineStore store,
      Transports transports,
      ThisNode thisNode,
      EngineConfig config,
      Signals signals,
      Consumer<EngineEvent> events) {
    this.store = store;
    this.node = thisNode.lease();
    this.view = thisNode.view();
    this.shards = new AtomicLong(view.get().shards());
    this.events = events;
    this.config = config;
    this.completer =
        new Completer(
            store.outcomes(),
            openClaims,
            node,
            new Completer.Hooks(outcomeAdded::raise, this::saved, this::completerMoved, events));
    this.dispatcher =
        new Dispatcher(transports.deliverer(), node, completer, store.clock(), events);
    Signal suspectsChanged = new Signal();
    this.suspects =
        new Suspects(
            store.nodes(),
            store.queue(),
            dispatcher,
            store.agenda(),
            lane -> view.get().isOurs(lane),
            new SuspectGroups(config.concurrency(), config.poisonCrashes()),
            suspectsChanged);
    this.startingSuspects = loop("suspects", suspects::startOnce, FLUSH_PAUSE);
    suspectsChanged.add(startingSuspects::wake);
    this.completing = loop("completer", completer::flushOnce, FLUSH_PAUSE);
    outcomeAdded.add(completing::wake);
    this.sweeping =
        loop("sweeper", new Sweeper(store.sweep(), store.clock())::sweepOnce, SWEEP_PAUSE);
    var lost =
        new LostClaims(
            store.claims(),
            node,
            openClaims::isKnown,
            new ReapDecision(store.clock(), config.poisonCrashes()),
            events);
    lost.searchWhile(() -> openClaims.hasAnswerWithin(MAX_COMMIT_DELAY));
    this.findingLost = Loop.of("lost-claims", lost::findOnce, this::failed);

    Signal seatsFreed = new Signal();
    this.sent =
        new Seats(
            config.concurrency(),
            config.concurrency(),
            Math.max(1, config.concurrency() / MIN_BATCH_PART),
            seatsFreed);
    addClaimers(seatsFreed);
    transports.publishers().forEach(this::addOutlet);
    signals.workDue().add(this::wakeClaimers);
    signals.clusterChanged().add(this::onClusterChanged);
    signals.databaseReplaced().add(openClaims::keepAll);
  }

  private void saved(List<Attempted> attempts) {
    suspects.ended(attempts);
  }

  private void completerMoved() {
    completing.progress();
  }

  private void addClaimers(Signal seatsFreed) {
    Catalog catalog = store.catalog();
    Claimer.Lanes sentLanes =
        new Claimer.Lanes(
            lane -> view.get().isOurs(lane) && catalog.isSentNow(lane),
            lane -> !view.get().isOurs(lane) && catalog.isSentNow(lane));
    addClaimer(
        "claimer",
        new Claimer.Workload(sentLanes, sent, new HttpStarter(dispatcher, suspects)),
        seatsFreed);
    for (int i = 0; i < DISCARD_CLAIMERS; i++) {
      int part = i;
      Claimer.Lanes lanes =
          new Claimer.Lanes(
              lane -> isDiscardedBy(part, lane, view.get()) && catalog.isDiscardedNow(lane),
              lane ->
                  !view.get().isOurs(lane)
                      && lane % DISCARD_CLAIMERS == part
                      && catalog.isDiscardedNow(lane));
      Signal freed = new Signal();
      Seats seats = batchSeats(freed);
      discarded.add(seats);
      addClaimer(
          "claimer-discard-" + i,
          new Claimer.Workload(lanes, seats, new DiscardStarter(dispatcher)),
          freed);
    }
  }

  private static Seats batchSeats(Signal freed) {
    return new Seats(BATCHES * WorkQueue.MAX_TASKS, 0, WorkQueue.MAX_TASKS, freed);
  }

  /** Alternates over this node's shards, not over lane ids: its shards may all be even. */
  private static boolean isDiscardedBy(int part, int lane, ClusterView view) {
    long before = view.shards() & ((1L << Shards.of(lane)) - 1);
    return view.isOurs(lane) && Long.bitCount(before) % DISCARD_CLAIMERS == part;
  }

  /** A broker has seats and a claimer of its own: when it is lost, only its own lanes wait. */
  private void addOutlet(Publisher publisher) {
    BrokerName name = publisher.name();
    var starter = new BrokerStarter(publisher, store.catalog(), dispatcher, completer);
    Signal ready = new Signal(); // seats were freed, or the broker takes messages again
    Seats seats = batchSeats(ready);
    Claimer.Lanes lanes =
        new Claimer.Lanes(
            lane -> view.get().isOurs(lane) && starter.accepts(lane),
            lane -> !view.get().isOurs(lane) && starter.accepts(lane));
    addClaimer(
        "claimer-" + name.kind().text() + "-" + name.cluster(),
        new Claimer.Workload(lanes, seats, starter),
        ready);
    publisher.ready().add(ready::raise);
    outlets.add(new BrokerOutlet(publisher, starter, seats));
  }

  private void addClaimer(String name, Claimer.Workload workload, Signal wakeUp) {
    var hooks = new Claimer.Hooks(this::claimerMoved, events);
    var claimer = new Claimer(store, node, workload, openClaims, hooks);
    Loop loop = Loop.of(name, claimer::claimOnce, this::failed);
    wakeUp.add(loop::wake);
    claimers.add(claimer);
    claiming.add(loop);
  }

  /** Takes seats for new tasks that may be claimed in the transaction that creates them. */
  @Override
  public List<TaskInserts.ImmediateClaim> reserve(Map<Lane, Integer> tasks) {
    List<TaskInserts.ImmediateClaim> claims = new ArrayList<>();
    if (!isStopping) {
      Map<Lane, Integer> left = new HashMap<>(tasks);
      for (Claimer claimer : claimers) {
        for (TaskInserts.ImmediateClaim claim : claimer.reserve(left)) {
          claims.add(claim);
          left.keySet().removeAll(claim.lanes());
        }
      }
    }
    return claims;
  }

  /** Each loop ignores progress reported on another thread. */
  private void claimerMoved() {
    claiming.forEach(Loop::progress);
  }

  private Loop loop(String name, Supplier<Duration> pass, Duration rest) {
    return new Loop(name, pass, rest, this::failed);
  }

  private void failed(String loop) {
    events.accept(new EngineEvent.PassFailed(loop));
  }

  private void wakeClaimers() {
    claiming.forEach(Loop::wake);
  }

  public static Engine start(
      EngineStore store,
      Transports transports,
      ThisNode thisNode,
      EngineConfig config,
      Signals signals,
      Consumer<EngineEvent> events) {
    Engine engine = new Engine(store, transports, thisNode, config, signals, events);
    engine.completing.start();
    engine.startingSuspects.start();
    engine.claiming.forEach(Loop::start);
    engine.sweeping.start();
    engine.findingLost.start();
    return engine;
  }

  /** Deliveries that were claimed here and have not ended yet. */
  public int inFlight() {
    return sent.running() + outlets.stream().mapToInt(BrokerOutlet::inFlight).sum();
  }

  /** Deliveries that have ended and whose outcome is not saved yet. */
  public int unsaved() {
    return sent.waitingToBeSaved();
  }

  /** How many deliveries may run at once. */
  public int seats() {
    return sent.all() + outlets.stream().mapToInt(outlet -> outlet.seats().all()).sum();
  }

  /**
   * Tasks that this node runs in small groups, because a node crashed while it ran them.
   *
   * @param oldest when the first waiting one became ready; null if none waits
   */
  public record SuspectCount(int waiting, int running, @Nullable Instant oldest) {}

  public SuspectCount suspects() {
    Suspects.Count count = suspects.count();
    return new SuspectCount(count.waiting(), count.running(), count.oldest());
  }

  public List<Broker> brokers() {
    return List.copyOf(outlets);
  }

  /** Looks for tasks in lanes that another node owned until now. */
  private void onClusterChanged() {
    long now = view.get().shards();
    long before = shards.getAndSet(now);
    if ((now & ~before) != 0) { // otherwise the sweep would be wasted
      sweeping.wake();
    }
    wakeClaimers();
  }

  /**
   * Names a stuck loop without which this node does no work, so that other nodes should take over.
   */
  public Optional<String> stuck() {
    return Stream.concat(claiming.stream(), Stream.of(completing))
        .filter(loop -> loop.isStuckFor(config.stuckAfter()))
        .map(loop -> "loop " + loop.name() + " is stuck")
        .findFirst();
  }

  /** Starts no more tasks, and releases the suspects that wait here. */
  public void stopClaiming() {
    isStopping = true;
    sweeping.stop();
    claiming.forEach(Loop::stop);
    suspects.close();
  }

  /**
   * Stops producers before their consumers. Attempts that still run after the drain timeout are
   * interrupted and go back to PENDING. The completer stops last, because it saves all outcomes.
   */
  public void stop() throws InterruptedException {
    stopClaiming();
    sweeping.close();
    claiming.forEach(Loop::close);
    startingSuspects.close();
    long end = System.nanoTime() + config.drainTimeout().toNanos();
    if (!sent.awaitEmpty(config.drainTimeout())) {
      dispatcher.interrupt();
    }
    for (BrokerOutlet outlet : outlets) {
      boolean _ = outlet.seats().awaitEmpty(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
      outlet.publisher().close();
    }
    dispatcher.close();
    boolean _ = sent.awaitEmpty(SAVE_TIMEOUT);
    for (BrokerOutlet outlet : outlets) {
      boolean _ = outlet.seats().awaitEmpty(SAVE_TIMEOUT);
    }
    for (Seats seats : discarded) {
      boolean _ = seats.awaitEmpty(SAVE_TIMEOUT);
    }
    completing.close();
    findingLost.close();
  }
}
