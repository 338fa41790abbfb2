/** The cluster under test: nodes, PostgreSQL, and the relays between them. */
@NullMarked
package carillon.chaos.cluster;

import org.jspecify.annotations.NullMarked;
