/** The faults that happen to a cluster, and the plan by which they happen. */
@NullMarked
package carillon.chaos.faults;

import org.jspecify.annotations.NullMarked;
