package carillon.app;

import carillon.app.config.Config;
import carillon.cluster.Election;
import carillon.cluster.Heartbeat;
import carillon.cluster.ShardPlanner;
import carillon.engine.EngineEvent;
import carillon.engine.Loop;
import carillon.model.cluster.Term;
import carillon.store.cluster.Leadership;
import carillon.store.cluster.ShardRows;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/** Constructs what makes a process a member of the cluster, and one of them its leader. */
final class ClusterWiring {

  /** One for the election and one for the shard planner, so that neither waits for the other. */
  private static final int CONNECTIONS = 2;

  private final Shutdown shutdown;
  private final Heartbeat heartbeat;
  private final Loop beating;
  private final Election election;
  private final Loop electing;
  private final ShardPlanner planner;
  private final Loop planning;

  private ClusterWiring(
      Pools pools, Config config, Heartbeat heartbeat, Metrics metrics, Shutdown shutdown) {
    this.shutdown = shutdown;
    this.heartbeat = heartbeat;
    Consumer<String> whenFailed = loop -> metrics.accept(new EngineEvent.PassFailed(loop));
    Duration lease = config.node().lease();
    Db db = pools.open(new Db.Pool("cluster", CONNECTIONS, lease.dividedBy(4)));
    // Shorter than a node's lease: when a leader is lost with its node, there is another one before
    // the node's tasks are to be taken back.
    this.election =
        new Election(
            new Leadership(db),
            heartbeat::lease,
            lease.dividedBy(2),
            System::nanoTime,
            new SecureRandom());
    Db leaderDb = db.onlyWhile(election::term);
    this.planner = new ShardPlanner(new ShardRows(leaderDb), election::term);
    this.beating = new Loop("heartbeat", heartbeat::beatOnce, whenFailed);
    this.electing = Loop.of("election", election::electOnce, whenFailed);
    this.planning = Loop.of("shard-planner", planner::planOnce, whenFailed);
    // It is the heartbeat that looks who leads, for all nodes at the price of none.
    election.contendWhile(() -> heartbeat.view().leader() == null);
    heartbeat.whenChanged(electing::wake);
    election.whenWon(planning::wake);
    election.whenWon(beating::wake);
    planner.whenMoved(beating::wake);
    register(metrics, leaderDb);
  }

  private void register(Metrics metrics, Db leaderDb) {
    metrics.gauge("leader", "1 while this node leads", () -> election.term().isPresent() ? 1 : 0);
    metrics.gauge(
        "term",
        "the term in which somebody leads, as this node knows; 0 if nobody does",
        () -> heartbeat.view().leader() instanceof Term(long number, _) ? number : 0);
    metrics.gauge("shards", "shards that this node looks after", () -> heartbeat.view().count());
    metrics.count("shard.moves", "shards that this node gave to another", planner::moves);
    metrics.staleTerms(leaderDb);
  }

  /**
   * Joins, be it that nothing runs tasks here yet, and goes on saying that the node lives until
   * everything that is added to the shutdown later has stopped.
   *
   * @param heartbeatDb with a connection that nobody else uses
   */
  static ClusterWiring join(
      Pools pools,
      Config config,
      Db heartbeatDb,
      DbClock clock,
      Metrics metrics,
      Shutdown shutdown) {
    var heartbeat = Heartbeat.joinEarly(heartbeatDb, clock, member(config), new SecureRandom());
    shutdown.add(heartbeat::leave);
    var cluster = new ClusterWiring(pools, config, heartbeat, metrics, shutdown);
    shutdown.add(cluster.beating.start());
    return cluster;
  }

  private static Heartbeat.Member member(Config config) {
    List<String> roles =
        config.node().roles().stream()
            .map(role -> role.name().toLowerCase(Locale.ROOT))
            .sorted()
            .toList();
    return new Heartbeat.Member(config.node().id(), roles, Main.version(), config.node().lease());
  }

  /** Begins to contend for the leadership, until everything that is added later has stopped. */
  void contend() {
    shutdown.add(election::resign);
    shutdown.add(electing.start());
    shutdown.add(planning.start());
  }

  Heartbeat heartbeat() {
    return heartbeat;
  }

  Election election() {
    return election;
  }

  /** Nodes came or went: if the leader did, there is to be another; it shares the shards out. */
  void membersChanged() {
    beating.wake();
    planning.wake();
  }

  /** Asks to be told when this node has moved shards, as the leader. */
  void whenMoved(Runnable action) {
    planner.whenMoved(action);
  }

  /** The leader or the shards changed: this node is to look. */
  void shardsChanged() {
    beating.wake();
  }
}
