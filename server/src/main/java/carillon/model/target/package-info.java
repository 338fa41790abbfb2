/** Where attempts go: HTTP targets and brokers, what they may be, and their secrets. */
@NullMarked
package carillon.model.target;

import org.jspecify.annotations.NullMarked;
