/** What the API refuses: its limits, its error codes, and the errors found in a request. */
@NullMarked
package carillon.api.error;

import org.jspecify.annotations.NullMarked;
