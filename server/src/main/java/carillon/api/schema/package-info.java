/** Validates payloads against the JSON Schemas of their types, in bounded time. */
@NullMarked
package carillon.api.schema;

import org.jspecify.annotations.NullMarked;
