/** What all endpoints share: routing, authentication, paging, idempotency, requests and answers. */
@NullMarked
package carillon.api.http;

import org.jspecify.annotations.NullMarked;
