/**
 * Tests of the HTTP API. Parsers are tested with tables, everything else over HTTP with a real
 * server and a real PostgreSQL.
 */
@NullMarked
package carillon.api;

import org.jspecify.annotations.NullMarked;
