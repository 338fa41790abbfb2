/**
 * Hands one attempt to the outside and says what came back.
 *
 * <p>A {@link carillon.delivery.Deliverer} takes a claimed task and answers with a {@link
 * carillon.model.task.DeliveryResult}; status codes, headers and client exceptions end here. It
 * decides nothing about the task: whether and when to try again is for the retry policy.
 *
 * <p>HTTP is spoken over plain sockets with the message layer of Apache HttpCore, without its
 * client on top. What must not happen (redirects, resending, cookies, proxies, decompression) is
 * thereby absent instead of switched off, and the deadline has one thing to close.
 *
 * <p>May use {@code model}, the JDK, Apache HttpComponents and slf4j; not the database, not the
 * engine.
 *
 * <p>The one invariant: an attempt puts at most one request on the wire, to an address that was
 * vetted for this attempt, and ends by its deadline.
 */
@NullMarked
package carillon.delivery;

import org.jspecify.annotations.NullMarked;
