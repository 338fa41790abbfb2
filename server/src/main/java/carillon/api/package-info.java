/**
 * The HTTP API: parses, authenticates, calls the store, renders. No business rules live here.
 *
 * <p>{@link carillon.api.http.Endpoints} is the one table of what can be called: method, path,
 * permission, query parameters and handler. Routing, 405, authorisation and the test against {@code
 * openapi.json} all read it. {@link carillon.api.http.FrontDoor} takes every request through the
 * same steps; one routes class per noun holds the handlers.
 *
 * <p>Bodies are read strictly: what is not understood is refused, never ignored ({@link
 * carillon.api.json.Fields}). A payload is kept as the slice of text that the client sent. Every
 * error is an {@link carillon.api.error.ErrorCode} and leaves as {@code application/problem+json}.
 *
 * <p>May use {@code model} and the tenant-scoped types of {@code store}; not {@code engine}, {@code
 * delivery} or {@code cluster}. The tenant of a request comes from its credentials only and is an
 * explicit parameter from there on.
 *
 * <p>The one invariant: a request holds a permit for the database only while it uses it; never
 * while it reads from or writes to its client, and never while it waits for work.
 */
@NullMarked
package carillon.api;

import org.jspecify.annotations.NullMarked;
