/** The Java client: creates tasks and runs workers through the HTTP API. */
@NullMarked
package carillon.client;

import org.jspecify.annotations.NullMarked;
