/**
 * The members of the cluster: which nodes are alive, which one leads, and which shards each owns.
 *
 * <p>A node is a member while its lease in the database has not lapsed; the heartbeat renews it on
 * a thread and a connection of its own, so that neither busy loops nor a full pool can make a live
 * node look dead. The database's clock decides when a lease lapses; the node itself stops trusting
 * it earlier, by its monotonic clock ({@link carillon.model.cluster.NodeLease}). A lease that
 * lapsed is never revived: the node continues under another id, and its tasks under the old id are
 * reaped.
 *
 * <p>One member leads, in a term ({@link carillon.model.cluster.Term}). The leader's lease is
 * shorter than a node's and follows the same rules, and every transaction of the leader first
 * proves that the term has not ended ({@link carillon.store.db.Db#onlyInTerm}).
 *
 * <p>May use {@code model} and {@code store}; knows no tasks. Nothing here is needed for
 * correctness: if two nodes believed the same thing, the claim and the fence would keep them apart.
 */
@NullMarked
package carillon.cluster;

import org.jspecify.annotations.NullMarked;
