package carillon.model.cluster;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What a node knows of the cluster since its last heartbeat. It may be out of date; nothing goes
 * wrong by that.
 *
 * @param leader who leads; null if nobody does
 * @param shards those that this node looks after, a bit each
 * @param isAlone whether there is no other node, whatever its roles
 */
public record ClusterView(@Nullable Term leader, long shards, boolean isAlone) {

  private static final long ALL = -1L;

  /** Of a node that has asked nobody yet. */
  public static final ClusterView ALONE = new ClusterView(null, ALL, true);

  /** Of a node that looks after nothing. */
  public static ClusterView without(@Nullable Term leader) {
    return new ClusterView(leader, 0, false);
  }

  /**
   * A node that runs tasks alone looks after everything, and so does every one while no shard is
   * given to anybody: better all of them than none.
   *
   * @param own the shards that are given to this node
   * @param given how many are given to any
   * @param others how many other nodes run tasks
   */
  public static ClusterView seen(
      @Nullable Term leader, Collection<Integer> own, int given, int others) {
    if (given == 0 || others == 0) {
      return new ClusterView(leader, ALL, others == 0);
    }
    long bits = 0;
    for (int shard : own) {
      bits |= 1L << shard;
    }
    return new ClusterView(leader, bits, false);
  }

  /** The same of a node that is not alone, be it that the others run no tasks. */
  public ClusterView inCompany() {
    return new ClusterView(leader, shards, false);
  }

  /** Whether this node looks after the lane. */
  public boolean isOurs(int lane) {
    return (shards >>> Shards.of(lane) & 1) == 1;
  }

  /** How many shards this node looks after. */
  public int count() {
    return Long.bitCount(shards);
  }
}
