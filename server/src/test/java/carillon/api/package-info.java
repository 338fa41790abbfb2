/**
 * Tests of the HTTP API: readers by table, everything else over a real server on a real PostgreSQL.
 */
@NullMarked
package carillon.api;

import org.jspecify.annotations.NullMarked;
