/** Workers with a RabbitMQ queue as source. Requires amqp-client. */
@NullMarked
package carillon.client.rabbitmq;

import org.jspecify.annotations.NullMarked;
