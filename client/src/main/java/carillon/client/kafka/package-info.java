/** Workers with a Kafka topic as source. Requires kafka-clients. */
@NullMarked
package carillon.client.kafka;

import org.jspecify.annotations.NullMarked;
