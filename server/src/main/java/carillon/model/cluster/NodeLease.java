package carillon.model.cluster;

import java.time.Duration;

/**
 * One period of membership in the cluster. A node claims under its lease.
 *
 * @param node the id of this period; a node that lost its lease continues under a new id
 * @param trustedUntil by {@link System#nanoTime}: afterwards the lease may have lapsed, and nothing
 *     new is started
 */
public record NodeLease(String node, long trustedUntil) {

  public static NodeLease renewed(String node, long askedAt, Duration lease) {
    return new NodeLease(node, trustedUntil(askedAt, lease));
  }

  /**
   * Trust is counted from before the query was sent, so a slow response shortens a lease and never
   * extends it. The last fifth is left out, so that this node stops before another one may start.
   */
  public static long trustedUntil(long askedAt, Duration lease) {
    return askedAt + lease.toNanos() / 5 * 4;
  }

  public boolean isTrusted(long nanoTime) {
    return nanoTime - trustedUntil < 0;
  }
}
