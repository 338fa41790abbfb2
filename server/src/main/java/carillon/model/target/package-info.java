/** Targets of attempts: HTTP and brokers, the rules for them, and their secrets. */
@NullMarked
package carillon.model.target;

import org.jspecify.annotations.NullMarked;
