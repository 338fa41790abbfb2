/** Lets a worker get its tasks from a RabbitMQ queue; needs amqp-client. */
@NullMarked
package carillon.client.rabbitmq;

import org.jspecify.annotations.NullMarked;
