/**
 * Sends one attempt to its target and returns the result.
 *
 * <p>A {@link carillon.delivery.Deliverer} turns a claimed task into a {@link
 * carillon.model.task.DeliveryResult}; status codes, headers and client exceptions do not leave
 * this package. It decides nothing about the task: the retry policy decides whether and when to
 * retry.
 *
 * <p>HTTP runs over plain sockets with the message layer of Apache HttpCore, without its client.
 * Redirects, resending, cookies, proxies and decompression are thereby absent instead of switched
 * off, and the deadline has one socket to close.
 *
 * <p>May use {@code model}, the JDK, Apache HttpComponents and slf4j; not the database, not the
 * engine.
 *
 * <p>Invariant: an attempt sends at most one request, to an address that was vetted for this
 * attempt, and ends by its deadline.
 */
@NullMarked
package carillon.delivery;

import org.jspecify.annotations.NullMarked;
