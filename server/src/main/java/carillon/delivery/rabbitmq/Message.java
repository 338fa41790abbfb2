package carillon.delivery.rabbitmq;

import carillon.delivery.MessageHeaders;
import carillon.model.task.ClaimedTask;
import com.rabbitmq.client.AMQP.BasicProperties;
import java.time.Instant;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;

/** The properties and headers of a RabbitMQ message. */
final class Message {

  private static final int PERSISTENT = 2;
  private static final String APP = "carillon";

  private Message() {}

  static BasicProperties properties(ClaimedTask task, byte[] body, Instant now) {
    Map<String, Object> headers = new HashMap<>(MessageHeaders.of(task, body, now));
    Object contentType = headers.remove("content-type"); // has a field of its own
    return new BasicProperties.Builder()
        .contentType(String.valueOf(contentType))
        .contentEncoding("utf-8")
        .deliveryMode(PERSISTENT)
        .priority(task.priority())
        .messageId(task.id().toString())
        .timestamp(Date.from(now))
        .type(task.type())
        .appId(APP)
        .headers(headers)
        .build();
  }
}
