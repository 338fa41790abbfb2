/** Reads the JSON of requests strictly, field by field, within the memory for bodies. */
@NullMarked
package carillon.api.json;

import org.jspecify.annotations.NullMarked;
