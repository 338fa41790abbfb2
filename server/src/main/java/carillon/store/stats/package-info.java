/** Counts of tasks and of their changes, events for streams, and storage sizes. */
@NullMarked
package carillon.store.stats;

import org.jspecify.annotations.NullMarked;
