/** The commands for dead letters and redrives. */
@NullMarked
package carillon.cli.deadletters;

import org.jspecify.annotations.NullMarked;
