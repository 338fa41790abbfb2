/** What users' programs import: hands tasks to a Carillon server over its HTTP API. */
@NullMarked
package carillon.client;

import org.jspecify.annotations.NullMarked;
