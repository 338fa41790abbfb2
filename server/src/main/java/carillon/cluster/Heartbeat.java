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
 * Keeps this node's lease, says how the node is, and learns on the way what the database's clock is
 * and how the cluster looks.
 */
public final class Heartbeat {

  private static final Logger log = LoggerFactory.getLogger(Heartbeat.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  /** The clock is measured with the first few beats, and then with every so manieth. */
  private static final int FIRST_BEATS = 3;

  private static final int BEATS_PER_MEASUREMENT = 10;

  private final Db db;
  private final Nodes nodes;
  private final DbClock clock;
  private final Member member;
  private final RandomGenerator random;
  private final Signal clusterChanged;
  private volatile Supplier<Vitals> vitals = () -> Vitals.NONE;
  private volatile Supplier<Optional<String>> harm = Optional::empty;
  private volatile @Nullable String address;
  private boolean isEarly; // guarded by this: nothing runs tasks here yet
  private volatile boolean isDraining;
  private volatile NodeLease lease;
  private volatile ClusterView view = ClusterView.ALONE;

  // Of the heartbeat's thread only:
  private Vitals lastVitals = Vitals.NONE;
  private boolean isHarmTold;
  private long beats;

  /**
   * Who joins.
   *
   * @param label the name that people gave the node; its id adds something random at every start
   * @param lease how long the node may be silent. Default 10 s.
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
   * Joins at once; the heartbeat is then to be repeated.
   *
   * @param db with a connection that nothing else uses
   * @param clusterChanged raised when the leader or this node's shards have changed
   */
  public static Heartbeat join(
      Db db, DbClock clock, Member member, RandomGenerator random, Signal clusterChanged) {
    return new Heartbeat(db, clock, member, random, clusterChanged, false);
  }

  /** The same of a node that cannot run tasks yet: it gets shards from {@link #begin} on. */
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

  /** From now on every heartbeat says how the node's work goes. */
  public void report(Supplier<Vitals> vitals) {
    this.vitals = vitals;
  }

  /** From now on every heartbeat says where the node's API answers. */
  public void advertise(String address) {
    this.address = address;
  }

  /**
   * While there is a reason the lease is not renewed: what this node cannot do any more, others
   * must.
   */
  public void renewUnlessStuck(Supplier<Optional<String>> harm) {
    this.harm = harm;
  }

  /** One pass. */
  public Duration beatOnce() {
    long began = System.nanoTime();
    Optional<String> reason = harm.get();
    if (reason.isPresent() && !isHarmTold) {
      log.error("lease not renewed node={} because={}", lease.node(), reason.get());
    }
    isHarmTold = reason.isPresent();
    see(isHarmTold ? nodes.view(lease.node()) : renew());
    if (beats < FIRST_BEATS || beats % BEATS_PER_MEASUREMENT == 0) {
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
    log.warn("lease lapsed node={}; what it held is given to others", lease.node());
    nodes.survive(lease.node());
    synchronized (this) { // who says something of the node must mean the new one
      lease = join();
    }
    return nodes.view(lease.node());
  }

  /** Those are for people; a node must not be taken for dead because it cannot count. */
  private Vitals vitals() {
    try {
      return vitals.get();
    } catch (RuntimeException e) {
      log.debug("vitals of the last heartbeat are said again", e);
      return lastVitals;
    }
  }

  private void see(ClusterView looks) {
    ClusterView seen = member.isEngine() ? looks : ClusterView.without(looks.leader());
    boolean isNew = !seen.equals(view);
    view = seen;
    if (isNew) {
      clusterChanged.raise();
    }
  }

  /** Says that the node runs tasks from now on. */
  public synchronized void begin() {
    isEarly = false;
    if (!isDraining) {
      nodes.begin(lease.node());
    }
  }

  /**
   * Says that the node is about to stop, so that its shards go to others while it ends its work.
   */
  public synchronized void drain() {
    isDraining = true;
    nodes.drain(lease.node());
    log.info("draining node={}", lease.node());
  }

  /** Gives the lease up, so that nobody waits for it to lapse. */
  public void leave() {
    nodes.leave(lease.node());
    log.info("left node={}", lease.node());
  }
}
