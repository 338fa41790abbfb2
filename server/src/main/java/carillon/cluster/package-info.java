/**
 * Who is alive, who leads, and who looks after which shard.
 *
 * <p>A node is a member while its lease in the database has not lapsed; the heartbeat renews it on
 * a thread and a connection of its own, so that neither busy loops nor a full pool can make a live
 * node look dead. The database's clock decides when a lease lapses; the node itself stops trusting
 * it earlier, by its monotonic clock ({@link carillon.model.cluster.NodeLease}). A lease that
 * lapsed is never revived: the node goes on under another id, and what it held under the old one is
 * reaped.
 *
 * <p>One member leads, in a term ({@link carillon.model.cluster.Term}). It keeps a lease of its
 * own, shorter than a node's, under the same rules, and every transaction that it writes as the
 * leader proves first that its term goes on ({@link carillon.store.db.Db#onlyInTerm}).
 *
 * <p>May use {@code model} and {@code store}; knows no tasks. Nothing here is needed for
 * correctness: if two nodes believed the same thing, the claim and the fence would keep them apart.
 */
@NullMarked
package carillon.cluster;

import org.jspecify.annotations.NullMarked;
