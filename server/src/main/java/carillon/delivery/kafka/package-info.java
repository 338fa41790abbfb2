/**
 * Publishes tasks to Kafka.
 *
 * <p>{@link carillon.delivery.kafka.KafkaPublisher} serves one cluster; the engine sees it as a
 * {@link carillon.delivery.Publisher}. No other package uses Kafka's classes.
 *
 * <p>May use {@code model}, {@code delivery}, Kafka's clients and slf4j.
 *
 * <p>Invariant: every task passed to {@code publish} ends exactly once, and as accepted only if
 * Kafka has confirmed it.
 */
@NullMarked
package carillon.delivery.kafka;

import org.jspecify.annotations.NullMarked;
