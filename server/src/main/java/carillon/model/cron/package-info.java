/** The rules by which a schedule repeats, and their nominal times. */
@NullMarked
package carillon.model.cron;

import org.jspecify.annotations.NullMarked;
