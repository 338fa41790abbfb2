package carillon.app;

import carillon.api.HttpApi;
import carillon.api.deadletters.ArchiveLine;
import carillon.api.http.ApiConfig;
import carillon.app.config.AdminKey;
import carillon.app.config.Config;
import carillon.cluster.Heartbeat;
import carillon.delivery.Publisher;
import carillon.delivery.http.HttpDeliverer;
import carillon.engine.Engine;
import carillon.engine.EngineConfig;
import carillon.engine.Feed;
import carillon.engine.Loop;
import carillon.engine.Tally;
import carillon.engine.upkeep.Upkeep;
import carillon.model.KeyText;
import carillon.model.Partition;
import carillon.model.Signals;
import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.OwnPorts;
import carillon.store.Memory;
import carillon.store.Store;
import carillon.store.catalog.TenantLimits;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import java.net.URI;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;
import javax.crypto.spec.SecretKeySpec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Builds a node from its configuration: the map of the system, and the place to start reading.
 *
 * <pre>
 *   request ──► HttpApi ──► Store ──► PostgreSQL ◄── Store ◄── Engine ──► HTTP, Kafka, RabbitMQ
 *                          (api)          ▲        (engine)
 *                                         ├──── Membership: lease, leader, shards (own pools)
 *                                         └──── Upkeep: reaper, cron, janitor ... (leader only)
 * </pre>
 *
 * The API and the engine meet only in the database and in {@link Memory}. The parts wake each other
 * with {@link Signals}, and are stopped in the opposite order of {@link #start()}.
 */
final class Wiring {

  private static final Logger log = LoggerFactory.getLogger(Wiring.class);

  /**
   * For some 22 loops; one more for each broker. The benchmark's scenarios never used more than 8
   * at once: see docs/decisions/0035.
   */
  private static final int ENGINE_CONNECTIONS = 8;

  private static final int MIN_API_CONNECTIONS = 2;
  private static final int CATALOG_CONNECTIONS = 2;
  private static final Duration CATALOG_INTERVAL = Duration.ofSeconds(1);
  private static final Duration API_DATABASE_TIMEOUT = Duration.ofSeconds(5);

  private final Config config;
  private final int apiConnections;
  private final Lifecycle lifecycle = new Lifecycle();
  private final Metrics metrics = new Metrics();
  private final Signals signals = Signals.create();
  private final OwnPorts ownPorts = new OwnPorts();
  private final HttpTargetRules targetRules;

  private Wiring(Config config) {
    this.config = config;
    this.apiConnections =
        Math.max(MIN_API_CONNECTIONS, config.database().poolSize() - ENGINE_CONNECTIONS);
    this.targetRules =
        new HttpTargetRules(AddressRules.of(config.access().allowTargets()), false, ownPorts);
  }

  private record Node(URI url, OptionalInt metricsPort, Lifecycle lifecycle) implements Running {
    @Override
    public void close() {
      lifecycle.stop();
    }
  }

  /** Starts the parts that the node's roles ask for. If one fails, those before it are stopped. */
  static Running start(Config config) {
    Wiring wiring = new Wiring(config);
    try {
      return wiring.start();
    } catch (RuntimeException | Error e) {
      wiring.lifecycle.stop();
      throw e;
    }
  }

  private Running start() {
    requireFreePorts();
    Db.Address address = DatabaseSetup.prepare(config, lifecycle);
    address.ports().forEach(ownPorts::add);
    Pools pools = new Pools(address, signals.databaseReplaced(), metrics, lifecycle);
    Db apiDb = pools.open("api", apiConnections);
    Db engineDb = pools.open("engine", ENGINE_CONNECTIONS + config.brokers().names().size());
    // Separate: transactions that hold a connection already look up lanes and partitions here.
    Db catalogDb = pools.open("catalog", CATALOG_CONNECTIONS);
    // Separate: nothing may keep a live node from renewing its lease.
    Db heartbeatDb = pools.open("heartbeat", 1, config.node().lease().dividedBy(4));

    DbClock clock = new DbClock(InstantSource.system());
    clock.measure(heartbeatDb);
    Memory memory = loadMemory(pools, catalogDb, engineDb, clock);
    Store engineStore = Store.on(engineDb, memory);
    Store apiStore = Store.on(apiDb, memory);

    countCommits(engineStore, pools);
    Membership membership =
        Membership.join(pools, heartbeatDb, clock, config, metrics, signals, lifecycle);
    streamEvents(engineStore, pools, membership);
    PeerHints hints =
        PeerHints.start(pools, memory, membership.heartbeat()::view, metrics, lifecycle);
    Optional<Engine> engine = startEngine(engineStore, membership);
    engine.ifPresent(apiStore.tasks()::claimImmediately);
    lifecycle.onStop("announce-resignation", hints::announceMembers);
    membership.contend();
    Upkeep upkeep = startUpkeep(engineDb, memory, membership);
    NodeMetrics.register(metrics, memory, engineStore, membership, upkeep, pools);
    HttpApi api = startApi(apiStore, membership, () -> stuckLoop(engine, upkeep));
    URI url = openForWork(api, membership, hints);
    prepareShutdown(engine, membership, hints); // last, so that it runs first
    log.info("database connections {}", pools.summary());
    return new Node(url, api.metricsPort(), lifecycle);
  }

  // ---- Database ----

  /** Before anything starts: a mistyped port should fail at once, not after joining a cluster. */
  private void requireFreePorts() {
    HttpApi.requireFreePort(config.http().bind(), config.http().port());
    if (config.metrics().port() != null) {
      HttpApi.requireFreePort(config.http().bind(), config.metrics().port());
    }
  }

  /** Reads what the process keeps in memory, and keeps it up to date. */
  private Memory loadMemory(Pools pools, Db catalogDb, Db sweepDb, DbClock clock) {
    new TenantLimits(catalogDb).set(config.limits());
    var settings = new Memory.Settings(config.alert().rule(), config.engine().retention());
    Memory memory = Memory.load(catalogDb, sweepDb, clock, settings, signals);
    // A completion that creates callbacks, due at once, has no time to create their partition.
    memory.partitions().ensure(Partition.of(clock.instant()));
    Loop refresh =
        new Loop("catalog", () -> refresh(pools, catalogDb, memory), metrics::passFailed);
    signals.databaseReplaced().add(refresh::wake);
    lifecycle.add("catalog", refresh.start());
    return memory;
  }

  private static Duration refresh(Pools pools, Db db, Memory memory) {
    if (pools.isPooled()) { // a pooler keeps our connections through a failover
      pools.timeline().check(db);
    }
    memory.catalog().refresh();
    return CATALOG_INTERVAL;
  }

  // ---- Committed transitions: counted, and shown live ----

  private void countCommits(Store store, Pools pools) {
    Tally tally = new Tally(store.activity(), store.catalog());
    pools.transitions().listen(tally);
    lifecycle.add("tally", tally); // stops after everything that it counts
    tally.start(metrics::passFailed);
  }

  private void streamEvents(Store store, Pools pools, Membership membership) {
    Feed feed =
        new Feed(
            store.events(),
            store.catalog(),
            store.clock(),
            () -> membership.heartbeat().lease().node());
    pools.transitions().listen(feed);
    lifecycle.add("feed", feed); // stops after everything that it shows
    feed.start(metrics::passFailed);
  }

  // ---- Engine and upkeep ----

  private Optional<Engine> startEngine(Store store, Membership membership) {
    if (!config.node().hasRole(Config.Role.ENGINE)) {
      return Optional.empty();
    }
    var deliverer = new HttpDeliverer(targetRules, store.clock(), Main.version());
    lifecycle.add("http-deliverer", deliverer);
    List<Publisher> publishers = BrokerPublishers.start(config.brokers(), store.clock(), lifecycle);
    Heartbeat heartbeat = membership.heartbeat();
    Engine engine =
        Engine.start(
            store,
            new Engine.Transports(deliverer, publishers),
            new Engine.ThisNode(heartbeat::lease, heartbeat::view),
            new EngineConfig(
                config.engine().concurrency(),
                config.engine().drainTimeout(),
                config.engine().poisonCrashes(),
                config.node().stuckAfter()),
            signals,
            metrics);
    lifecycle.onStop("engine", engine::stop);
    heartbeat.report(() -> NodeMetrics.vitals(metrics, engine, store, heartbeat.view()));
    heartbeat.renewUnlessStuck(engine::stuck); // then other nodes take over its work
    NodeMetrics.register(metrics, engine);
    if (!publishers.isEmpty()) {
      var gauges = BrokerGauges.register(engine.brokers(), metrics.registry());
      lifecycle.add(
          "broker-gauges",
          new Loop("broker-gauges", gauges::refreshOnce, metrics::passFailed).start());
    }
    return Optional.of(engine);
  }

  /** Runs on every node and works on the leader, whose every transaction proves its term. */
  private Upkeep startUpkeep(Db engineDb, Memory memory, Membership membership) {
    Db leaderDb = engineDb.onlyInTerm(membership::term);
    metrics.staleTerms(leaderDb);
    Upkeep upkeep =
        Upkeep.start(
            Store.on(leaderDb, memory),
            membership.heartbeat()::lease,
            membership::term,
            new Upkeep.Settings(
                config.engine().retention(),
                config.archive().ttl(),
                config.archive().directory(),
                ArchiveLine::of),
            config.engine().poisonCrashes(),
            metrics);
    signals.leadershipWon().add(upkeep::takeOver);
    signals.scheduleSaved().add(upkeep::planNow);
    signals.scheduleHinted().add(upkeep::planNow);
    membership.election().leadUnlessStuck(() -> upkeep.stuckFor(config.node().stuckAfter()));
    return lifecycle.add("upkeep", upkeep);
  }

  private Optional<String> stuckLoop(Optional<Engine> engine, Upkeep upkeep) {
    return engine.flatMap(Engine::stuck).or(() -> upkeep.stuckFor(config.node().stuckAfter()));
  }

  // ---- API ----

  private HttpApi startApi(
      Store store, Membership membership, Supplier<Optional<String>> stuckLoop) {
    signals.workDue().add(store.pullQueue()::wake);
    HttpApi api =
        HttpApi.start(
            new ApiConfig(
                config.http().bind(),
                config.http().port(),
                config.node().hasRole(Config.Role.API),
                HexFormat.of().formatHex(KeyText.sha256(AdminKey.of(config).value())),
                new SecretKeySpec(store.catalog().secret(), "HmacSHA256"),
                apiConnections,
                API_DATABASE_TIMEOUT,
                config.http().maxConnectionsPerAddress(),
                config.brokers().names(),
                Main.version(),
                new ApiConfig.Metrics(config.metrics().port(), config.metrics().key()),
                config.node().dataDir()),
            store,
            targetRules,
            new NodeHealth(membership.heartbeat(), stuckLoop),
            metrics.registry(),
            store.clock());
    ownPorts.add(api.port());
    api.metricsPort().ifPresent(ownPorts::add);
    return lifecycle.add("api", api);
  }

  /** The node is complete: it gets shards, receives hints and advertises its address. */
  private URI openForWork(HttpApi api, Membership membership, PeerHints hints) {
    membership.heartbeat().begin();
    hints.listen();
    URI url = config.http().url(api.port());
    membership.heartbeat().advertise(url.toString());
    return url;
  }

  /** Runs first on shutdown, last line first: other nodes take over before this one drains. */
  private void prepareShutdown(Optional<Engine> engine, Membership membership, PeerHints hints) {
    lifecycle.onStop("announce-leaving", hints::announceMembers);
    lifecycle.onStop("wake-cluster", signals.membersChanged()::raise);
    lifecycle.onStop("drain", membership.heartbeat()::drain);
    lifecycle.onStop("disown-lanes", hints::disownLanes);
    engine.ifPresent(running -> lifecycle.onStop("stop-claiming", running::stopClaiming));
  }
}
