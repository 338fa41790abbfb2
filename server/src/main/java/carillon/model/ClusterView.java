package carillon.model;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What a node knows of the cluster since its last heartbeat. It may be out of date; nothing goes
 * wrong by that.
 *
 * @param leader who leads; null if nobody does
 * @param shards those that this node looks after, a bit each
 */
public record ClusterView(@Nullable Term leader, long shards) {

  private static final long ALL = -1L;

  /** Of a node that has asked nobody yet. */
  public static final ClusterView ALONE = new ClusterView(null, ALL);

  /** Of a node that looks after nothing. */
  public static ClusterView without(@Nullable Term leader) {
    return new ClusterView(leader, 0);
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
      return new ClusterView(leader, ALL);
    }
    long bits = 0;
    for (int shard : own) {
      bits |= 1L << shard;
    }
    return new ClusterView(leader, bits);
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
