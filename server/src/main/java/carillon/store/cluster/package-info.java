/** The rows of nodes, leader and shards, and the notifications between nodes. */
@NullMarked
package carillon.store.cluster;

import org.jspecify.annotations.NullMarked;
