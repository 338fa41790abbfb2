/** Lets a worker get its tasks from a Kafka topic; needs kafka-clients. */
@NullMarked
package carillon.client.kafka;

import org.jspecify.annotations.NullMarked;
