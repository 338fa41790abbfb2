/** The command that shows what the cluster is doing. */
@NullMarked
package carillon.cli.cluster;

import org.jspecify.annotations.NullMarked;
