package carillon.app;

import carillon.api.HttpApi;
import carillon.api.Stores;
import carillon.api.http.ApiConfig;
import carillon.api.http.Health;
import carillon.app.config.AdminKey;
import carillon.app.config.Config;
import carillon.app.config.DatabaseUrl;
import carillon.app.postgres.EmbeddedPostgres;
import carillon.cli.CommandFailed;
import carillon.cluster.Heartbeat;
import carillon.delivery.Publisher;
import carillon.delivery.http.HttpDeliverer;
import carillon.delivery.kafka.KafkaCluster;
import carillon.delivery.kafka.KafkaPublisher;
import carillon.delivery.rabbitmq.RabbitCluster;
import carillon.delivery.rabbitmq.RabbitPublisher;
import carillon.engine.Engine;
import carillon.engine.EngineConfig;
import carillon.engine.EngineEvent;
import carillon.engine.Feed;
import carillon.engine.Loop;
import carillon.engine.Tally;
import carillon.engine.upkeep.Upkeep;
import carillon.model.KeyText;
import carillon.model.Partition;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.Hint;
import carillon.model.cluster.Vitals;
import carillon.model.target.AddressRules;
import carillon.model.target.BrokerName;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.OwnPorts;
import carillon.model.target.Target;
import carillon.model.task.AlertRule;
import carillon.model.task.FailureKind;
import carillon.store.catalog.ApiKeys;
import carillon.store.catalog.Audit;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.catalog.Replies;
import carillon.store.catalog.TenantLimits;
import carillon.store.catalog.Tenants;
import carillon.store.catalog.Types;
import carillon.store.cluster.ClusterReader;
import carillon.store.cluster.Nodes;
import carillon.store.db.DatabaseCheck;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Migrations;
import carillon.store.db.Pooler;
import carillon.store.db.StoreException;
import carillon.store.db.Timeline;
import carillon.store.deadletters.DeadLetterArchive;
import carillon.store.deadletters.DeadLetters;
import carillon.store.deadletters.Redrives;
import carillon.store.deadletters.Restores;
import carillon.store.queue.Agenda;
import carillon.store.queue.Alerts;
import carillon.store.queue.Claims;
import carillon.store.queue.Outcomes;
import carillon.store.queue.PullQueue;
import carillon.store.queue.WorkQueue;
import carillon.store.schedules.BackfillSteps;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.DueSchedules;
import carillon.store.schedules.FireRetention;
import carillon.store.schedules.Schedules;
import carillon.store.schedules.StoredSchedule;
import carillon.store.stats.Activity;
import carillon.store.stats.ActivityReader;
import carillon.store.stats.Backlog;
import carillon.store.stats.Events;
import carillon.store.stats.StatsReader;
import carillon.store.stats.StorageReader;
import carillon.store.stats.WaitingCounts;
import carillon.store.tasks.Tasks;
import carillon.store.tasks.UniqueTasks;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Constructs everything from the configuration: the map of the system, and the place to start
 * reading.
 */
final class Wiring {

  private static final Logger log = LoggerFactory.getLogger(Wiring.class);

  /**
   * For some 22 loops; one more for each broker. Never more than 8 wanted one at once in the
   * benchmark's scenarios: see docs/decisions/0035.
   */
  private static final int ENGINE_CONNECTIONS = 8;

  private static final Duration REFRESH = Duration.ofSeconds(1);

  private static final Pattern DATABASE_HOST = Pattern.compile(":([0-9]{1,5})(?=[,/?]|$)");

  private static final Duration SHORTEST_STUCK = Duration.ofSeconds(20);

  private Wiring() {}

  /** Starts what the node's roles ask for; if anything fails, what was started is stopped again. */
  static Running start(Config config) {
    Shutdown shutdown = new Shutdown();
    try {
      return start(config, shutdown);
    } catch (RuntimeException | Error e) {
      shutdown.run();
      throw e;
    }
  }

  /** They apply to all nodes, because users' transactions and other nodes must keep to the same. */
  private static void setLimits(Db db, TenantLimits.Installation limits) {
    if (new TenantLimits(db).set(limits)) {
      log.info(
          "tenant limits changed types={} lanes={} schedules={} keys={}",
          limits.types(),
          limits.lanes(),
          limits.schedules(),
          limits.keys());
    }
  }

  private static Running start(Config config, Shutdown shutdown) {
    // Before anything is started: who mistyped the port should not wait, nor read the log of a node
    // that comes and goes.
    HttpApi.refuseTakenPort(config.http().bind(), config.http().port());
    if (config.metrics().port() != null) {
      HttpApi.refuseTakenPort(config.http().bind(), config.metrics().port());
    }
    Db.Address address = database(config, shutdown);
    DatabaseCheck.refusal(address).ifPresent(Wiring::refuse);
    DatabaseCheck.advice(address, config.engine().retention())
        .ifPresent(advice -> log.warn("database setting to change: {}", advice));
    migrate(address);

    Metrics metrics = new Metrics();
    Consumer<String> whenFailed = loop -> metrics.accept(new EngineEvent.PassFailed(loop));
    int apiConnections = Math.max(2, config.database().poolSize() - ENGINE_CONNECTIONS);
    Set<BrokerName> brokers = brokers(config);
    Pools pools = Pools.of(address, metrics, shutdown);
    Db apiDb = pools.open(new Db.Pool("api", apiConnections));
    Db engineDb = pools.open(new Db.Pool("engine", ENGINE_CONNECTIONS + brokers.size()));
    // Apart from the others: both are needed by transactions that hold a connection already.
    Db catalogDb = pools.open(new Db.Pool("catalog", 2));
    // And this one so that nothing can keep a live node from saying so.
    Db heartbeatDb = pools.open(new Db.Pool("heartbeat", 1, config.node().lease().dividedBy(4)));

    DbClock clock = new DbClock(InstantSource.system());
    clock.measure(heartbeatDb);
    setLimits(catalogDb, config.limits());
    Catalog catalog = new Catalog(catalogDb);
    catalog.refresh();
    Partitions partitions = new Partitions(catalogDb);
    Agenda agenda = new Agenda();
    WorkQueue queue = new WorkQueue(engineDb, catalog, partitions, agenda);
    Tasks tasks = new Tasks(apiDb, catalog, partitions, clock, agenda);
    Alerts alerts = new Alerts(catalog, tasks, alertRule(config.alert()));
    Outcomes endings = new Outcomes(engineDb, catalog, agenda, tasks, alerts);
    Claims claims = new Claims(engineDb, catalog, endings);
    // What ends may make tasks that are due at once, and has no time to make their partition.
    partitions.ensure(Partition.of(clock.instant()));
    Replies replies = new Replies(apiDb);
    OwnPorts ownPorts = new OwnPorts();
    databasePorts(address).forEach(ownPorts::add);
    HttpTargetRules targetRules =
        new HttpTargetRules(AddressRules.of(config.access().allowTargets()), false, ownPorts);

    Loop refreshing =
        new Loop("catalog", () -> refresh(pools, catalogDb, catalog), whenFailed).start();
    shutdown.add(refreshing);
    watch(pools.timeline(), catalog, partitions, refreshing);
    Tally tally = new Tally(new Activity(engineDb), catalog);
    pools.transitions().listen(tally);
    shutdown.add(tally); // stops after whatever it counts
    tally.start(whenFailed);
    ClusterWiring cluster =
        ClusterWiring.join(pools, config, heartbeatDb, clock, metrics, shutdown);
    Heartbeat heartbeat = cluster.heartbeat();
    Feed feed = new Feed(new Events(engineDb), catalog, clock, () -> heartbeat.lease().node());
    pools.transitions().listen(feed);
    shutdown.add(feed); // stops after whatever it shows
    feed.start(whenFailed);
    HintWiring hints =
        HintWiring.start(pools, cluster, new HintWiring.Memory(queue, catalog, agenda, clock));

    Optional<Engine> engine =
        config.node().roles().contains(Config.Role.ENGINE)
            ? Optional.of(
                engine(
                    config,
                    new Engine.Store(
                        queue, endings, catalog, agenda, clock, new Nodes(engineDb), claims),
                    targetRules,
                    heartbeat,
                    metrics,
                    shutdown))
            : Optional.empty();
    engine.ifPresent(
        running ->
            heartbeat.report(
                () ->
                    new Vitals(
                        running.inFlight(),
                        running.seats(),
                        lag(agenda, catalog, heartbeat.view(), clock, running.suspects()),
                        metrics.claimed(),
                        metrics.ended(),
                        new Vitals.Suspects(
                            running.suspects().waiting(), running.suspects().running()))));
    engine.ifPresent(running -> heartbeat.renewUnless(running::stuck));
    engine.ifPresent(running -> heartbeat.whenChanged(running::lookAround));
    shutdown.add(() -> hints.announcer().tell(Hint.News.MEMBERS)); // who has just resigned
    cluster.contend();
    // What the leader does for all; whatever it writes proves that it leads.
    Db leaderDb = engineDb.onlyWhile(cluster.election()::term);
    metrics.staleTerms(leaderDb);
    Partitions leaderPartitions = partitions.through(leaderDb);
    var upkeepStore =
        new Upkeep.Store(
            new WorkQueue(leaderDb, catalog, leaderPartitions, agenda),
            new Claims(leaderDb, catalog, endings),
            new Nodes(leaderDb),
            leaderPartitions,
            new Replies(leaderDb),
            new UniqueTasks(leaderDb),
            clock,
            new DeadLetters(leaderDb, catalog),
            new Redrives(leaderDb, agenda),
            new DeadLetterArchive(leaderDb),
            new Backfills(leaderDb, StoredSchedule::timetable, config.engine().retention()),
            new BackfillSteps(leaderDb, tasks, StoredSchedule::timetable),
            new FireRetention(leaderDb),
            new DueSchedules(leaderDb, tasks),
            new Activity(leaderDb),
            new WaitingCounts(leaderDb),
            new Events(leaderDb));
    Upkeep upkeep =
        Upkeep.start(
            upkeepStore,
            heartbeat::lease,
            cluster.election()::term,
            new Upkeep.Keeping(
                config.engine().retention(), config.archive().ttl(), config.archive().directory()),
            config.engine().poisonCrashes(),
            metrics);
    cluster.election().whenWon(upkeep::takeOver);
    Supplier<Optional<String>> standstill =
        () -> upkeep.stuckFor(stuckAfter(config.node().lease()));
    cluster.election().leadUnless(standstill);
    shutdown.add(upkeep);
    metrics.gauge(
        "planner.lag.seconds",
        "how long the schedule that waits longest has waited to be planned",
        () -> seconds(upkeep.plannerLag()));
    metrics.gauge(
        "database.timeline",
        "the history of the database: it changes when a standby is promoted",
        () -> pools.timeline().number());
    metrics.outcomes(endings);
    metrics.count(
        "poisoned",
        "tasks that this node ended as dead because node after node died while running them",
        () -> endings.count(FailureKind.POISON));
    metrics.count("callbacks", "callbacks made by this node", endings::callbacks);
    metrics.count("alerts", "alerts raised by this node", alerts::raised);
    metrics.count("created.tasks", "tasks created by this node", tasks::created);
    metrics.gauge(
        "clock.offset.seconds", "the database's clock minus ours", () -> seconds(clock.offset()));
    new BacklogGauge(new Backlog(engineDb, catalog, partitions), clock).register(metrics);

    Schedules schedules = new Schedules(apiDb, catalog, tasks, clock);
    schedules.changed().add(upkeep::planNow);
    schedules.changed().add(() -> hints.announcer().tell(Hint.News.SCHEDULES));
    Stores stores =
        new Stores(
            apiDb,
            tasks,
            new DeadLetters(apiDb, catalog),
            new Types(apiDb, catalog),
            new Tenants(apiDb, catalog),
            new ApiKeys(apiDb, catalog, clock),
            replies,
            new PullQueue(catalog, queue, endings, claims, agenda, clock),
            new Redrives(apiDb, agenda),
            new Audit(apiDb),
            new Restores(catalog, partitions),
            schedules,
            new Backfills(apiDb, StoredSchedule::timetable, config.engine().retention()),
            new ClusterReader(apiDb),
            new StorageReader(apiDb),
            new StatsReader(apiDb, catalog, partitions, clock),
            new ActivityReader(apiDb),
            new Events(apiDb));
    HttpApi api =
        HttpApi.start(
            api(config, catalog, apiConnections, brokers),
            stores,
            targetRules,
            health(heartbeat, () -> engine.flatMap(Engine::stuck).or(standstill)),
            metrics.registry(),
            clock);
    shutdown.add(api); // at once: if a later step fails, its port must not stay open
    heartbeat.begin();
    hints.listen(cluster, upkeep);
    ownPorts.add(api.port());
    api.metricsPort().ifPresent(ownPorts::add);
    URI url = URI.create("http://" + host(config.http().bind()) + ":" + api.port());
    heartbeat.answersAt(url.toString());
    shutdown.add(() -> hints.announcer().tell(Hint.News.MEMBERS));
    shutdown.add(cluster::membersChanged);
    shutdown.add(heartbeat::drain); // at once: others take over what is not begun
    shutdown.add(hints.announcer()::stopping);
    engine.ifPresent(running -> shutdown.add(running::stopClaiming)); // before anything else
    log.info("database connections {}", pools.summary());
    return new Node(url, api.metricsPort(), shutdown);
  }

  private static Engine engine(
      Config config,
      Engine.Store store,
      HttpTargetRules targetRules,
      Heartbeat heartbeat,
      Metrics metrics,
      Shutdown shutdown) {
    var deliverer = new HttpDeliverer(targetRules, store.clock(), Main.version());
    shutdown.add(deliverer);
    List<Publisher> publishers = publishers(config, store.clock(), shutdown);
    Engine engine =
        Engine.start(
            store,
            new Engine.Ways(deliverer, publishers),
            new Engine.Membership(heartbeat::lease, heartbeat::view),
            new EngineConfig(
                config.engine().concurrency(),
                config.engine().drainTimeout(),
                config.engine().poisonCrashes(),
                stuckAfter(config.node().lease())),
            metrics);
    shutdown.add(engine::stop);
    metrics.gauge("in.flight", "deliveries claimed here and not yet ended", engine::inFlight);
    metrics.gauge("unwritten", "deliveries ended here, not yet written", engine::toBeWritten);
    metrics.gauge("seats", "deliveries that may be in flight here at once", engine::seats);
    metrics.suspects(engine::suspects);
    if (!publishers.isEmpty()) {
      var gauges = BrokerGauges.register(engine.brokers(), metrics.registry());
      shutdown.add(
          new Loop(
                  "broker-gauges",
                  gauges::refreshOnce,
                  loop -> metrics.accept(new EngineEvent.PassFailed(loop)))
              .start());
    }
    return engine;
  }

  /** The clusters that tasks may name here, also on nodes that publish nothing themselves. */
  private static Set<BrokerName> brokers(Config config) {
    Set<BrokerName> names = new TreeSet<>();
    config.brokers().kafka().forEach(cluster -> names.add(cluster.name()));
    for (RabbitCluster cluster : config.brokers().rabbitmq()) {
      names.add(new BrokerName(BrokerName.Kind.RABBITMQ, cluster.name()));
    }
    return names;
  }

  /**
   * One for each of them; none waits for its broker to answer. The shutdown closes each, in case
   * that the next one or the engine cannot start; closed twice is closed.
   */
  private static List<Publisher> publishers(Config config, InstantSource clock, Shutdown shutdown) {
    List<Publisher> publishers = new ArrayList<>();
    for (KafkaCluster cluster : config.brokers().kafka()) {
      publishers.add(KafkaPublisher.start(cluster, clock));
      shutdown.add(publishers.getLast());
    }
    for (RabbitCluster cluster : config.brokers().rabbitmq()) {
      publishers.add(RabbitPublisher.start(cluster, clock));
      shutdown.add(publishers.getLast());
    }
    return publishers;
  }

  private record Node(URI url, OptionalInt metricsPort, Shutdown shutdown) implements Running {
    @Override
    public void close() {
      shutdown.run();
    }
  }

  private static Db.Address database(Config config, Shutdown shutdown) {
    DatabaseUrl url = config.database().url();
    if (url != null) {
      return url.address(config.database().pooler());
    }
    EmbeddedPostgres postgres = EmbeddedPostgres.start(config.node().dataDir());
    shutdown.add(postgres);
    shutdown.add(new Loop("postgres", () -> revive(postgres), _ -> {}).start());
    return new Db.Address(postgres.jdbcUrl(), postgres.user(), postgres.password());
  }

  /** Of all hosts that the URL names; the driver's own where it names none. */
  private static List<Integer> databasePorts(Db.Address address) {
    Matcher hosts = DATABASE_HOST.matcher(address.url());
    List<Integer> ports = new ArrayList<>();
    while (hosts.find()) {
      ports.add(Integer.parseInt(hosts.group(1)));
    }
    return ports;
  }

  private static Duration revive(EmbeddedPostgres postgres) {
    if (postgres.revive()) {
      log.warn("the embedded PostgreSQL had died and was started again");
    }
    return REFRESH;
  }

  private static void migrate(Db.Address address) {
    try {
      Migrations.open(address).apply(OptionalInt.empty());
    } catch (StoreException e) {
      log.debug("the migration failed", e);
      throw new CommandFailed(String.valueOf(e.getMessage()));
    }
  }

  private static void refuse(String reason) {
    throw new CommandFailed(reason);
  }

  /** Another history of the database is another database, as far as memory is concerned. */
  private static void watch(
      Timeline timeline, Catalog catalog, Partitions partitions, Loop refreshing) {
    timeline.whenChanged(catalog::forget);
    timeline.whenChanged(partitions::forget);
    timeline.whenChanged(refreshing::wake);
  }

  private static Duration refresh(Pools pools, Db db, Catalog catalog) {
    if (pools.address().pooler() != Pooler.NONE) { // who keeps our connections through a failover
      pools.timeline().lookOnce(db);
    }
    catalog.refresh();
    return REFRESH;
  }

  /** How long the first due task of the node's own lanes has waited. */
  private static Duration lag(
      Agenda agenda, Catalog catalog, ClusterView view, DbClock clock, Engine.Apart suspects) {
    Instant first = agenda.earliest(lane -> view.isOurs(lane) && catalog.isPushedNow(lane));
    if (first == null || first.equals(Instant.EPOCH)) { // the latter: to be looked at from its head
      first = suspects.oldest();
    } else if (suspects.oldest() != null && suspects.oldest().isBefore(first)) {
      first = suspects.oldest(); // claimed, and waiting for its group
    }
    if (first == null) {
      return Duration.ZERO;
    }
    Duration waited = Duration.between(first, clock.instant());
    return waited.isNegative() ? Duration.ZERO : waited;
  }

  private static ApiConfig api(
      Config config, Catalog catalog, int connections, Set<BrokerName> brokers) {
    return new ApiConfig(
        config.http().bind(),
        config.http().port(),
        config.node().roles().contains(Config.Role.API),
        HexFormat.of().formatHex(KeyText.sha256(AdminKey.of(config).value())),
        new SecretKeySpec(catalog.secret(), "HmacSHA256"),
        connections,
        Duration.ofSeconds(5),
        config.http().maxConnectionsPerAddress(),
        brokers,
        Main.version(),
        new ApiConfig.Metrics(config.metrics().port(), config.metrics().key()),
        config.node().dataDir());
  }

  private static @Nullable AlertRule alertRule(Config.Alert alert) {
    return alert.url() == null
        ? null
        : new AlertRule(
            new Target.Http(alert.url(), "POST", Map.of(), null, null),
            alert.deaths(),
            alert.within());
  }

  private static Health health(Heartbeat heartbeat, Supplier<Optional<String>> stuck) {
    return new Health() {
      @Override
      public Optional<String> notReady() {
        return heartbeat.lease().isTrusted(System.nanoTime())
            ? Optional.empty()
            : Optional.of("the database has not answered for a while");
      }

      @Override
      public Optional<String> notLive() {
        return stuck.get();
      }
    };
  }

  /** Longer than any pass takes that waits for a database which is gone. */
  private static Duration stuckAfter(Duration lease) {
    Duration twice = lease.multipliedBy(2);
    return twice.compareTo(SHORTEST_STUCK) > 0 ? twice : SHORTEST_STUCK;
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }

  /**
   * What people can type into a browser: a wildcard address is not that. The zone of an address,
   * such as {@code fe80::1%eth0}, is escaped in a URL.
   */
  static String host(String bind) {
    String address = bind.replace("%", "%25");
    return switch (address) {
      case "0.0.0.0", "::", "[::]" -> "localhost";
      default -> address.contains(":") && !address.startsWith("[") ? "[" + address + "]" : address;
    };
  }
}
