/** Faults, and the plan that injects them into a cluster. */
@NullMarked
package carillon.chaos.faults;

import org.jspecify.annotations.NullMarked;
