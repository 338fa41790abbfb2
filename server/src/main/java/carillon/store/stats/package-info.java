/** Counts of what happened, of what waits, and of the storage that it takes. */
@NullMarked
package carillon.store.stats;

import org.jspecify.annotations.NullMarked;
