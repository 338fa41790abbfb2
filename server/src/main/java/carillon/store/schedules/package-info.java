/** Schedules, their fires and their backfills. */
@NullMarked
package carillon.store.schedules;

import org.jspecify.annotations.NullMarked;
