/** The endpoints for dead letters: list, group, redrive, purge and restore. */
@NullMarked
package carillon.api.deadletters;

import org.jspecify.annotations.NullMarked;
