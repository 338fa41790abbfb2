package carillon.model.cluster;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * What a node knows of the cluster since its last heartbeat. It may be out of date, which is
 * harmless.
 *
 * @param leader the current leader, or null
 * @param shards the shards that this node owns, one bit each
 * @param isAlone whether there is no other node of any role
 */
public record ClusterView(@Nullable Term leader, long shards, boolean isAlone) {

  private static final long ALL = -1L;

  /** The view before the first heartbeat. */
  public static final ClusterView ALONE = new ClusterView(null, ALL, true);

  /** The view of a node that owns no shards. */
  public static ClusterView without(@Nullable Term leader) {
    return new ClusterView(leader, 0, false);
  }

  /**
   * The only node that runs tasks owns all shards. So does every node while no shard is assigned:
   * overlapping owners are harmless, missing ones are not.
   *
   * @param own the shards that are assigned to this node
   * @param given how many shards are assigned to any node
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

  /** The view of a node in a multi-node cluster, even if its peers have no engine role. */
  public ClusterView inCompany() {
    return new ClusterView(leader, shards, false);
  }

  /** Whether this node owns the lane. */
  public boolean isOurs(int lane) {
    return (shards >>> Shards.of(lane) & 1) == 1;
  }

  /** How many shards this node owns. */
  public int count() {
    return Long.bitCount(shards);
  }
}
