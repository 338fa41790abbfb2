/** Finds, redrives, purges, archives and restores dead letters. */
@NullMarked
package carillon.store.deadletters;

import org.jspecify.annotations.NullMarked;
