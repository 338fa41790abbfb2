/** The commands for tasks. */
@NullMarked
package carillon.cli.tasks;

import org.jspecify.annotations.NullMarked;
