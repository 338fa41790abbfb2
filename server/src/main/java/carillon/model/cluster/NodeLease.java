package carillon.model.cluster;

import java.time.Duration;

/**
 * One stretch of being a member of the cluster, under which a node claims.
 *
 * @param node the id of this stretch; a node that lost its lease goes on under another
 * @param trustedUntil by {@link System#nanoTime}: after that the lease may have lapsed and nothing
 *     new is started
 */
public record NodeLease(String node, long trustedUntil) {

  public static NodeLease renewed(String node, long askedAt, Duration lease) {
    return new NodeLease(node, trustedUntil(askedAt, lease));
  }

  /**
   * Trust is counted from before the question was sent, so a slow answer shortens a lease and never
   * stretches it; the last fifth is left out, so that we stop before another node may begin.
   */
  public static long trustedUntil(long askedAt, Duration lease) {
    return askedAt + lease.toNanos() / 5 * 4;
  }

  public boolean isTrusted(long nanoTime) {
    return nanoTime - trustedUntil < 0;
  }
}
