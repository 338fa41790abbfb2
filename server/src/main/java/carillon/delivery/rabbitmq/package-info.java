/**
 * Publishes to RabbitMQ and says what the broker made of it.
 *
 * <p>{@link carillon.delivery.rabbitmq.RabbitPublisher} keeps one connection, which it makes again
 * by itself; the client's own recovery is off, because it would repeat what we have answered
 * already. What the broker has not confirmed when the connection goes is unreached, never accepted.
 *
 * <p>May use {@code model}, {@code delivery}, the JDK, RabbitMQ's client and slf4j.
 *
 * <p>The one invariant: every publication ends exactly once, and as accepted only when the broker
 * has confirmed it and not returned it.
 */
@NullMarked
package carillon.delivery.rabbitmq;

import org.jspecify.annotations.NullMarked;
