/**
 * Publishes tasks to RabbitMQ.
 *
 * <p>{@link carillon.delivery.rabbitmq.RabbitPublisher} has one connection and reopens it itself;
 * the client's own recovery is off, because it would send messages again whose results are already
 * reported. Messages not confirmed when the connection is lost are unreached, never accepted.
 *
 * <p>May use {@code model}, {@code delivery}, the JDK, RabbitMQ's client and slf4j.
 *
 * <p>Invariant: every publication ends exactly once, and as accepted only if the broker has
 * confirmed it and not returned it.
 */
@NullMarked
package carillon.delivery.rabbitmq;

import org.jspecify.annotations.NullMarked;
