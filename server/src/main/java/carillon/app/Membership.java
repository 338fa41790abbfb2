package carillon.app;

import carillon.app.config.Config;
import carillon.cluster.Election;
import carillon.cluster.Heartbeat;
import carillon.cluster.ShardPlanner;
import carillon.engine.Loop;
import carillon.model.Signals;
import carillon.model.cluster.Term;
import carillon.store.cluster.Leadership;
import carillon.store.cluster.ShardRows;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** This node in the cluster: its lease, its shards and, if it wins the election, its leadership. */
final class Membership {

  /** One for the election and one for the shard planner, so that neither waits for the other. */
  private static final int CONNECTIONS = 2;

  private final Lifecycle lifecycle;
  private final Heartbeat heartbeat;
  private final Election election;
  private final ShardPlanner planner;
  private final Db leaderDb;
  private final Loop electing;
  private final Loop planning;

  private Membership(
      Pools pools,
      Config config,
      Heartbeat heartbeat,
      Metrics metrics,
      Signals signals,
      Lifecycle lifecycle) {
    this.lifecycle = lifecycle;
    this.heartbeat = heartbeat;
    Duration lease = config.node().lease();
    Db db = pools.open("cluster", CONNECTIONS, lease.dividedBy(4));
    // Shorter than a node's lease: when a leader dies with its node, the cluster has a new leader
    // before the node's tasks are to be reaped.
    this.election =
        new Election(
            new Leadership(db),
            heartbeat::lease,
            lease.dividedBy(2),
            System::nanoTime,
            new SecureRandom(),
            signals.leadershipWon());
    this.leaderDb = db.onlyInTerm(election::term);
    this.planner = new ShardPlanner(new ShardRows(leaderDb), election::term, signals.shardsMoved());
    Loop beating = new Loop("heartbeat", heartbeat::beatOnce, metrics::passFailed);
    this.electing = Loop.of("election", election::electOnce, metrics::passFailed);
    this.planning = Loop.of("shard-planner", planner::planOnce, metrics::passFailed);
    // The heartbeat reads the leader together with the lease, so followers send no other query.
    election.contendWhile(() -> heartbeat.view().leader() == null);
    signals.clusterChanged().add(electing::wake);
    signals.leadershipWon().add(planning::wake);
    signals.leadershipWon().add(beating::wake);
    signals.shardsMoved().add(beating::wake);
    signals.shardsHinted().add(beating::wake);
    signals.membersChanged().add(beating::wake);
    signals.membersChanged().add(planning::wake);
    lifecycle.add("heartbeat", beating.start());
  }

  /**
   * Joins before the node can run tasks, and renews the lease until all parts that are added to the
   * lifecycle later have stopped.
   *
   * @param heartbeatDb with a connection that nothing else uses
   */
  static Membership join(
      Pools pools,
      Db heartbeatDb,
      DbClock clock,
      Config config,
      Metrics metrics,
      Signals signals,
      Lifecycle lifecycle) {
    var heartbeat =
        Heartbeat.joinEarly(
            heartbeatDb, clock, member(config), new SecureRandom(), signals.clusterChanged());
    lifecycle.onStop("leave", heartbeat::leave);
    return new Membership(pools, config, heartbeat, metrics, signals, lifecycle);
  }

  private static Heartbeat.Member member(Config config) {
    List<String> roles =
        config.node().roles().stream()
            .map(role -> role.name().toLowerCase(Locale.ROOT))
            .sorted()
            .toList();
    return new Heartbeat.Member(config.node().id(), roles, Main.version(), config.node().lease());
  }

  /** Contends for the leadership until all parts that are added to the lifecycle later stopped. */
  void contend() {
    lifecycle.onStop("resign", election::resign);
    lifecycle.add("election", electing.start());
    lifecycle.add("shard-planner", planning.start());
  }

  Heartbeat heartbeat() {
    return heartbeat;
  }

  Election election() {
    return election;
  }

  /** The term in which this node leads; empty as soon as that is in doubt. */
  Optional<Term> term() {
    return election.term();
  }

  void register(Metrics metrics) {
    metrics.gauge("leader", "1 while this node leads", () -> term().isPresent() ? 1 : 0);
    metrics.gauge(
        "term",
        "current leadership term; 0 without a leader",
        () -> heartbeat.view().leader() instanceof Term(long number, _) ? number : 0);
    metrics.gauge("shards", "shards that this node owns", () -> heartbeat.view().count());
    metrics.count("shard.moves", "shards moved by this node as the leader", planner::moves);
    metrics.staleTerms(leaderDb);
  }
}
