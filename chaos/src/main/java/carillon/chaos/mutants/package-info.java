/**
 * Programs that are broken on purpose, made from the classes of the built server, and what must
 * catch each: a checker that finds nothing has only proved itself once it has found these.
 */
@NullMarked
package carillon.chaos.mutants;

import org.jspecify.annotations.NullMarked;
