/** The rules by which a schedule repeats, and the nominal times that follow from them. */
@NullMarked
package carillon.model.cron;

import org.jspecify.annotations.NullMarked;
