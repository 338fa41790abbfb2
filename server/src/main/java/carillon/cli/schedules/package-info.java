/** The commands for schedules, and the files that describe them. */
@NullMarked
package carillon.cli.schedules;

import org.jspecify.annotations.NullMarked;
