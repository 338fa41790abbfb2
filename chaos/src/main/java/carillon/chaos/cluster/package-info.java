/** The cluster under test: nodes, PostgreSQL, relays, and the processes that they are. */
@NullMarked
package carillon.chaos.cluster;

import org.jspecify.annotations.NullMarked;
