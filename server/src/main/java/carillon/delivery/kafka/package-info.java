/**
 * Publishes tasks to Kafka.
 *
 * <p>{@link carillon.delivery.kafka.KafkaPublisher} is one cluster; the engine knows it as a {@link
 * carillon.delivery.Publisher}. No other package sees a class of Kafka.
 *
 * <p>May use {@code model}, {@code delivery}, Kafka's clients and slf4j.
 *
 * <p>The one invariant: whatever was handed over ends exactly once, and as accepted only if Kafka
 * has confirmed it.
 */
@NullMarked
package carillon.delivery.kafka;

import org.jspecify.annotations.NullMarked;
