/** The limits of the API, its error codes, and the errors found in a request. */
@NullMarked
package carillon.api.error;

import org.jspecify.annotations.NullMarked;
