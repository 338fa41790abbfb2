/**
 * Proofs on the whole program: real processes, killed, paused and stopped, with real deliveries.
 *
 * <p>One class for each promise. What a class here shows can only be seen from outside; what can be
 * shown with less is tested in the package that does it.
 */
@NullMarked
package carillon.e2e;

import org.jspecify.annotations.NullMarked;
