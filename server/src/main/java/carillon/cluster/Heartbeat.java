package carillon.cluster;

import carillon.model.NodeLease;
import carillon.store.Db;
import carillon.store.DbClock;
import carillon.store.Nodes;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps this node's lease, and measures the database's clock on the way. */
public final class Heartbeat {

  private static final Logger log = LoggerFactory.getLogger(Heartbeat.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  private final Db db;
  private final Nodes nodes;
  private final DbClock clock;
  private final Member member;
  private final RandomGenerator random;
  private volatile NodeLease lease;

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
  }

  private Heartbeat(Db db, Nodes nodes, DbClock clock, Member member, RandomGenerator random) {
    this.db = db;
    this.nodes = nodes;
    this.clock = clock;
    this.member = member;
    this.random = random;
    this.lease = join();
  }

  /**
   * Joins at once; the heartbeat is then to be repeated.
   *
   * @param db with a connection that nobody else uses
   */
  public static Heartbeat join(Db db, DbClock clock, Member member, RandomGenerator random) {
    return new Heartbeat(db, new Nodes(db), clock, member, random);
  }

  private NodeLease join() {
    byte[] suffix = new byte[4];
    random.nextBytes(suffix);
    String id = member.label() + "-" + HexFormat.of().formatHex(suffix);
    long askedAt = System.nanoTime();
    nodes.join(id, member.label(), member.roles(), member.version(), member.lease());
    log.info("joined node={} lease={}", id, member.lease());
    return NodeLease.renewed(id, askedAt, member.lease());
  }

  public NodeLease lease() {
    return lease;
  }

  /** One pass. */
  public Duration beatOnce() {
    long askedAt = System.nanoTime();
    if (nodes.renew(lease.node(), member.lease())) {
      lease = NodeLease.renewed(lease.node(), askedAt, member.lease());
    } else {
      log.warn("lease lapsed node={}; what it held is given to others", lease.node());
      nodes.survive(lease.node());
      lease = join();
    }
    clock.measure(db);
    Duration third = member.lease().dividedBy(3);
    return third.compareTo(INTERVAL) < 0 ? third : INTERVAL;
  }

  /** Gives the lease up, so that nobody waits for it to lapse. */
  public void leave() {
    nodes.leave(lease.node());
    log.info("left node={}", lease.node());
  }
}
