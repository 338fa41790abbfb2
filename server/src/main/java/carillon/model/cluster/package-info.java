/** The nodes of a cluster, its leader, its shards, and the hints that nodes exchange. */
@NullMarked
package carillon.model.cluster;

import org.jspecify.annotations.NullMarked;
