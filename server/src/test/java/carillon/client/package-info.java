/** The Java client against the real server: what its own module cannot have for its tests. */
@NullMarked
package carillon.client;

import org.jspecify.annotations.NullMarked;
