/** Delivers attempts to HTTP targets. */
@NullMarked
package carillon.delivery.http;

import org.jspecify.annotations.NullMarked;
