/**
 * Who is alive.
 *
 * <p>A node is a member while its lease in the database has not lapsed; the heartbeat renews it on
 * a thread and a connection of its own, so that neither busy loops nor a full pool can make a live
 * node look dead. The database's clock decides when a lease lapses; the node itself stops trusting
 * it earlier, by its monotonic clock ({@link carillon.model.NodeLease}). A lease that lapsed is
 * never revived: the node goes on under another id, and what it held under the old one is reaped.
 *
 * <p>May use {@code model} and {@code store}; knows no tasks. Nothing here is needed for
 * correctness: if two nodes believed the same thing, the claim and the fence would keep them apart.
 */
@NullMarked
package carillon.cluster;

import org.jspecify.annotations.NullMarked;
