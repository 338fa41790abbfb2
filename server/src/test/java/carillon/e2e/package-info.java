/**
 * Tests of the whole program: real processes with real deliveries, killed, paused and stopped.
 *
 * <p>One class for each promise that only shows from outside. Everything else is tested in the
 * package that implements it.
 */
@NullMarked
package carillon.e2e;

import org.jspecify.annotations.NullMarked;
