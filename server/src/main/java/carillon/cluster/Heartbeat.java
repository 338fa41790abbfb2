package carillon.cluster;

import carillon.model.Signal;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Vitals;
import carillon.store.cluster.Nodes;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews this node's lease and reports its vitals. The same round trip reads the cluster's state,
 * and now and then the database's clock.
 */
public final class Heartbeat {

  private static final Logger log = LoggerFactory.getLogger(Heartbeat.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  /** The clock is measured in the first few beats, in every tenth, and until it is exact. */
  private static final int FIRST_BEATS = 3;

  private static final int BEATS_PER_MEASUREMENT = 10;

  private final Db db;
  private final Nodes nodes;
  private final DbClock clock;
  private final Member member;
  private final RandomGenerator random;
  private final Signal clusterChanged;
  private volatile Supplier<Vitals> vitals = () -> Vitals.NONE;
  private volatile Supplier<Optional<String>> stuckLoop = Optional::empty;
  private volatile @Nullable String address;
  private boolean isEarly; // guarded by this: this node cannot run tasks yet
  private volatile boolean isDraining;
  private volatile NodeLease lease;
  private volatile ClusterView view = ClusterView.ALONE;

  // Used by the heartbeat's thread only:
  private Vitals lastVitals = Vitals.NONE;
  private boolean isStuckLogged;
  private long beats;

  /**
   * The node that joins.
   *
   * @param label the configured name; the node's id adds a random suffix at every start
   * @param lease how long the node is alive without a heartbeat. Default 10 s.
   */
  public record Member(String label, List<String> roles, String version, Duration lease) {
    public Member {
      roles = List.copyOf(roles);
    }

    private boolean isEngine() {
      return roles.contains("engine");
    }
  }

  private Heartbeat(
      Db db,
      DbClock clock,
      Member member,
      RandomGenerator random,
      Signal clusterChanged,
      boolean isEarly) {
    this.db = db;
    this.nodes = new Nodes(db);
    this.clock = clock;
    this.member = member;
    this.random = random;
    this.clusterChanged = clusterChanged;
    this.isEarly = isEarly;
    this.lease = join();
    see(nodes.view(lease.node()));
  }

  /**
   * Joins at once. The caller then repeats {@link #beatOnce}.
   *
   * @param db with a connection that nothing else uses
   * @param clusterChanged raised when the leader or this node's shards have changed
   */
  public static Heartbeat join(
      Db db, DbClock clock, Member member, RandomGenerator random, Signal clusterChanged) {
    return new Heartbeat(db, clock, member, random, clusterChanged, false);
  }

  /** Joins with a node that cannot run tasks yet: it gets shards from {@link #begin} on. */
  public static Heartbeat joinEarly(
      Db db, DbClock clock, Member member, RandomGenerator random, Signal clusterChanged) {
    return new Heartbeat(db, clock, member, random, clusterChanged, member.isEngine());
  }

  private synchronized NodeLease join() {
    byte[] suffix = new byte[4];
    random.nextBytes(suffix);
    String id = member.label() + "-" + HexFormat.of().formatHex(suffix);
    long askedAt = System.nanoTime();
    nodes.join(
        id,
        member.label(),
        member.roles(),
        member.version(),
        member.lease(),
        isDraining || isEarly);
    log.info("joined node={} lease={}", id, member.lease());
    return NodeLease.renewed(id, askedAt, member.lease());
  }

  public NodeLease lease() {
    return lease;
  }

  /** The cluster as it was at the last heartbeat. */
  public ClusterView view() {
    return view;
  }

  /** Reports these vitals with every heartbeat from now on. */
  public void report(Supplier<Vitals> vitals) {
    this.vitals = vitals;
  }

  /** Publishes the address of the node's API with every heartbeat from now on. */
  public void advertise(String address) {
    this.address = address;
  }

  /**
   * While a loop is stuck, the lease is not renewed, so that other nodes take over this node's
   * work.
   */
  public void renewUnlessStuck(Supplier<Optional<String>> stuckLoop) {
    this.stuckLoop = stuckLoop;
  }

  /** One pass. */
  public Duration beatOnce() {
    long began = System.nanoTime();
    Optional<String> reason = stuckLoop.get();
    if (reason.isPresent() && !isStuckLogged) {
      log.error("lease not renewed node={} reason={}", lease.node(), reason.get());
    }
    isStuckLogged = reason.isPresent();
    see(isStuckLogged ? nodes.view(lease.node()) : renew());
    if (beats < FIRST_BEATS || beats % BEATS_PER_MEASUREMENT == 0 || clock.isInexact()) {
      clock.measure(db);
    }
    beats++;
    return interval().minusNanos(System.nanoTime() - began);
  }

  private Duration interval() {
    Duration third = member.lease().dividedBy(3);
    return third.compareTo(INTERVAL) < 0 ? third : INTERVAL;
  }

  private ClusterView renew() {
    lastVitals = vitals();
    long askedAt = System.nanoTime();
    var beat = new Nodes.Beat(member.lease(), lastVitals, clock.offset(), address, isDraining);
    Optional<ClusterView> seen = nodes.renew(lease.node(), beat);
    if (seen.isPresent()) {
      lease = NodeLease.renewed(lease.node(), askedAt, member.lease());
      return seen.get();
    }
    log.warn("lease lapsed node={}; other nodes take over its tasks", lease.node());
    nodes.survive(lease.node());
    synchronized (this) { // begin() and drain() must apply to the new node id
      lease = join();
    }
    return nodes.view(lease.node());
  }

  /** Vitals are for people: a failure to read them must not cost the lease. */
  private Vitals vitals() {
    try {
      return vitals.get();
    } catch (RuntimeException e) {
      log.debug("cannot read vitals, reporting the last ones again", e);
      return lastVitals;
    }
  }

  private void see(ClusterView read) {
    ClusterView seen = member.isEngine() ? read : ClusterView.without(read.leader());
    boolean isNew = !seen.equals(view);
    view = seen;
    if (isNew) {
      clusterChanged.raise();
    }
  }

  /** The node can run tasks from now on, and gets shards. */
  public synchronized void begin() {
    isEarly = false;
    if (!isDraining) {
      nodes.begin(lease.node());
    }
  }

  /** The node is about to stop: its shards move to other nodes while it finishes its work. */
  public synchronized void drain() {
    isDraining = true;
    nodes.drain(lease.node());
    log.info("draining node={}", lease.node());
  }

  /** Ends the lease, so that other nodes need not wait for it to lapse. */
  public void leave() {
    nodes.leave(lease.node());
    log.info("left node={}", lease.node());
  }
}
