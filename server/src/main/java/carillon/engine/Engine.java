package carillon.engine;

import carillon.delivery.Deliverer;
import carillon.delivery.Publisher;
import carillon.model.Signal;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Shards;
import carillon.model.target.BrokerName;
import carillon.model.task.Attempted;
import carillon.store.catalog.Catalog;
import carillon.store.cluster.Nodes;
import carillon.store.db.DbClock;
import carillon.store.queue.Agenda;
import carillon.store.queue.Claims;
import carillon.store.queue.Outcomes;
import carillon.store.queue.WorkQueue;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The loops that run tasks on one node, started and stopped together. */
public final class Engine {

  /**
   * Discarded tasks have claimers of their own, each with a part of the lanes: there the claim
   * itself is the work, and one connection cannot do more of it.
   */
  private static final int DISCARD_CLAIMERS = 2;

  /** One that is being claimed, one that is being written or sent, and one between them. */
  private static final int BATCHES = 3;

  /** While most of the seats for deliveries are taken, this part of them is worth a claim. */
  private static final int MIN_BATCH_PART = 4;

  /** Between two flushes, so that outcomes that come one by one are written together. */
  private static final Duration GATHERING = Duration.ofMillis(3);

  /** How long a stop waits for outcomes to be written. */
  private static final Duration WRITING = Duration.ofSeconds(5);

  /** A claim whose answer was lost is committed by then, or never. */
  private static final Duration CLAIMS_SHOW = Duration.ofSeconds(30);

  /** Between two sweeps, however often shards come to this node. */
  private static final Duration BETWEEN_SWEEPS = Duration.ofMillis(100);

  private final Store store;
  private final Supplier<NodeLease> node;
  private final Supplier<ClusterView> view;
  private final AtomicLong shards; // when it looked around last
  private final Consumer<EngineEvent> events;
  private final EngineConfig config;
  private final Dispatcher dispatcher;
  private final OpenClaims openClaims = new OpenClaims();
  private final Signal outcomeAdded = new Signal();
  private final Completer completer;
  private final Suspects suspects;
  private final Seats sent;
  private final List<Seats> discarded = new ArrayList<>();
  private final List<Outlet> outlets = new ArrayList<>();
  private final List<Loop> claiming = new ArrayList<>();
  private final Loop sweeping;
  private final Loop completing;
  private final Loop startingSuspects;
  private final Loop findingLost;

  /** What the engine needs of the store. */
  public record Store(
      WorkQueue queue,
      Outcomes endings,
      Catalog catalog,
      Agenda agenda,
      DbClock clock,
      Nodes nodes,
      Claims claims) {}

  /**
   * This node in the cluster.
   *
   * @param lease under which it claims
   * @param view which lanes it looks after
   */
  public record Membership(Supplier<NodeLease> lease, Supplier<ClusterView> view) {}

  /**
   * The ways out of this node.
   *
   * @param publishers one for each broker cluster; closed when the engine stops
   */
  public record Ways(Deliverer deliverer, List<Publisher> publishers) {

    public Ways {
      publishers = List.copyOf(publishers);
    }
  }

  /** A broker cluster that this node publishes to, as it is now. */
  public interface Broker {
    BrokerName name();

    boolean isReachable();

    int inFlight();

    /** Messages that it has confirmed. */
    long published();

    /** Messages that wait, by the queue or consumer group that is watched. */
    Map<String, Long> depths();
  }

  /** It has seats of its own, so that it neither waits for the others nor they for it. */
  private record Outlet(Publisher publisher, Publishing publishing, Seats seats) implements Broker {

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
      return seats.taken();
    }

    @Override
    public long published() {
      return publishing.published();
    }

    @Override
    public Map<String, Long> depths() {
      return publisher.depths();
    }
  }

  private Engine(
      Store store,
      Ways ways,
      Membership membership,
      EngineConfig config,
      Consumer<EngineEvent> events) {
    this.store = store;
    this.node = membership.lease();
    this.view = membership.view();
    this.shards = new AtomicLong(view.get().shards());
    this.events = events;
    this.config = config;
    this.completer =
        new Completer(
            store.endings(),
            openClaims,
            node,
            new Completer.Hooks(outcomeAdded::raise, this::saved, this::completerMoved, events));
    this.dispatcher = new Dispatcher(ways.deliverer(), node, completer, store.clock(), events);
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
    this.startingSuspects = loop("suspects", suspects::startOnce, GATHERING);
    suspectsChanged.add(startingSuspects::wake);
    this.completing = loop("completer", completer::flushOnce, GATHERING);
    outcomeAdded.add(completing::wake);
    this.sweeping =
        loop("sweeper", new Sweeper(store.queue(), store.clock())::sweepOnce, BETWEEN_SWEEPS);
    var lost =
        new LostClaims(
            store.claims(),
            node,
            openClaims::isKnown,
            new ReapDecision(store.clock(), config.poisonCrashes()),
            events);
    lost.lookWhile(() -> openClaims.hasAnswerWithin(CLAIMS_SHOW));
    this.findingLost = Loop.of("lost-claims", lost::findOnce, this::failed);

    Signal seatsFreed = new Signal();
    this.sent =
        new Seats(
            config.concurrency(),
            config.concurrency(),
            Math.max(1, config.concurrency() / MIN_BATCH_PART),
            seatsFreed);
    addClaimers(seatsFreed);
    ways.publishers().forEach(this::addOutlet);
    store.agenda().whenEarlier(this::wakeClaimers);
    store.catalog().whenChanged(this::wakeClaimers);
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
        new Claimer.Workload(sentLanes, sent, new Sending(dispatcher, suspects)),
        seatsFreed);
    for (int i = 0; i < DISCARD_CLAIMERS; i++) {
      int part = i;
      Claimer.Lanes lanes =
          new Claimer.Lanes(
              lane -> isDiscardedBy(part, lane, view.get()) && catalog.isKeptNow(lane),
              lane ->
                  !view.get().isOurs(lane)
                      && lane % DISCARD_CLAIMERS == part
                      && catalog.isKeptNow(lane));
      Signal freed = new Signal();
      Seats seats = batchSeats(freed);
      discarded.add(seats);
      addClaimer(
          "claimer-discard-" + i,
          new Claimer.Workload(lanes, seats, new Discarding(dispatcher)),
          freed);
    }
  }

  private static Seats batchSeats(Signal freed) {
    return new Seats(BATCHES * Claimer.MAX_BATCH, 0, Claimer.MAX_BATCH, freed);
  }

  /** They take turns by the shards of this node: those may all be even. */
  private static boolean isDiscardedBy(int part, int lane, ClusterView view) {
    long before = view.shards() & ((1L << Shards.of(lane)) - 1);
    return view.isOurs(lane) && Long.bitCount(before) % DISCARD_CLAIMERS == part;
  }

  /** A broker has seats and a claimer of its own: when it is lost, only its own lanes wait. */
  private void addOutlet(Publisher publisher) {
    BrokerName name = publisher.name();
    var publishing = new Publishing(publisher, store.catalog(), dispatcher, completer);
    Signal ready = new Signal(); // seats were freed, or the broker takes messages again
    Seats seats = batchSeats(ready);
    Claimer.Lanes lanes =
        new Claimer.Lanes(
            lane -> view.get().isOurs(lane) && publishing.takes(lane),
            lane -> !view.get().isOurs(lane) && publishing.takes(lane));
    addClaimer(
        "claimer-" + name.kind().text() + "-" + name.cluster(),
        new Claimer.Workload(lanes, seats, publishing),
        ready);
    publisher.ready().add(ready::raise);
    outlets.add(new Outlet(publisher, publishing, seats));
  }

  private void addClaimer(String name, Claimer.Workload workload, Signal wakeUp) {
    var hooks = new Claimer.Hooks(this::claimerMoved, events);
    var claimer = new Claimer(store, node, workload, openClaims, hooks);
    Loop loop = Loop.of(name, claimer::claimOnce, this::failed);
    wakeUp.add(loop::wake);
    claiming.add(loop);
  }

  /** Each loop takes this for its own only on its own thread. */
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
      Store store,
      Ways ways,
      Membership membership,
      EngineConfig config,
      Consumer<EngineEvent> events) {
    Engine engine = new Engine(store, ways, membership, config, events);
    engine.completing.start();
    engine.startingSuspects.start();
    engine.claiming.forEach(Loop::start);
    engine.sweeping.start();
    engine.findingLost.start();
    return engine;
  }

  /** Deliveries that were claimed here and have not ended yet. */
  public int inFlight() {
    return sent.running() + outlets.stream().mapToInt(outlet -> outlet.seats().taken()).sum();
  }

  /** Deliveries that have ended and whose outcome is not written yet. */
  public int toBeWritten() {
    return sent.waitingToBeSaved();
  }

  /** How many deliveries may run at once. */
  public int seats() {
    return sent.all() + outlets.stream().mapToInt(outlet -> outlet.seats().all()).sum();
  }

  /**
   * The tasks that this node runs in small groups, because a node died while it ran them.
   *
   * @param oldest since when the first of those that wait could have started; null if none waits
   */
  public record Apart(int waiting, int running, @Nullable Instant oldest) {}

  public Apart suspects() {
    Suspects.Count count = suspects.count();
    return new Apart(count.waiting(), count.running(), count.oldest());
  }

  public List<Broker> brokers() {
    return List.copyOf(outlets);
  }

  /** The cluster has changed: looks for what waits in lanes that were another's until now. */
  public void lookAround() {
    long now = view.get().shards();
    long before = shards.getAndSet(now);
    if ((now & ~before) != 0) { // a sweep that nobody needs is not free
      sweeping.wake();
    }
    wakeClaimers();
  }

  /**
   * Why this node only seems to live: a loop without which it does nothing stands still. Then
   * others should do its work.
   */
  public Optional<String> stuck() {
    return Stream.concat(claiming.stream(), Stream.of(completing))
        .filter(loop -> loop.isStuckFor(config.stuckAfter()))
        .map(loop -> "the loop " + loop.name() + " stands still")
        .findFirst();
  }

  /** From now on nothing new is started, and what waits for its turn here goes back. */
  public void stopClaiming() {
    sweeping.stop();
    claiming.forEach(Loop::stop);
    suspects.close();
  }

  /**
   * Producers stop before what they feed. What still runs after the grace is interrupted and goes
   * back to PENDING; the completer stops last, because everything ends there.
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
    for (Outlet outlet : outlets) {
      boolean _ = outlet.seats().awaitEmpty(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
      outlet.publisher().close();
    }
    dispatcher.close();
    boolean _ = sent.awaitEmpty(WRITING);
    for (Outlet outlet : outlets) {
      boolean _ = outlet.seats().awaitEmpty(WRITING);
    }
    for (Seats seats : discarded) {
      boolean _ = seats.awaitEmpty(WRITING);
    }
    completing.close();
    findingLost.close();
  }
}
