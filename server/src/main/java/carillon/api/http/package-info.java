/** The parts that all endpoints share: routing, authentication, paging, idempotency, bodies. */
@NullMarked
package carillon.api.http;

import org.jspecify.annotations.NullMarked;
