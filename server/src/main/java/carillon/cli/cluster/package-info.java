/** The command that shows the cluster. */
@NullMarked
package carillon.cli.cluster;

import org.jspecify.annotations.NullMarked;
