package carillon.model.target;

import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Where the attempts of a task are sent. */
public sealed interface Target {

  /**
   * An HTTP request.
   *
   * @param secretHeaders headers whose values are secret although their names do not look secret;
   *     spelled as in {@code headers}
   * @param body sent instead of the payload
   * @param timeout for the whole attempt; null means the type's
   */
  record Http(
      String url,
      String method,
      Map<String, String> headers,
      Set<String> secretHeaders,
      @Nullable String body,
      @Nullable Duration timeout)
      implements Target {

    public Http {
      headers = Map.copyOf(headers);
      secretHeaders = Set.copyOf(secretHeaders);
    }

    /** A target without headers marked as secret. */
    public Http(
        String url,
        String method,
        Map<String, String> headers,
        @Nullable String body,
        @Nullable Duration timeout) {
      this(url, method, headers, Set.of(), body, timeout);
    }

    /** Whether the value of this header is never shown. */
    public boolean isSecret(String header) {
      return secretHeaders.contains(header) || SecretNames.isHeader(header);
    }

    /** Without header values, because records are easily logged. */
    @Override
    public String toString() {
      return "Http[" + method + " " + SecretUrl.hidden(url) + "]";
    }
  }

  /** A worker claims the task. */
  record Pull() implements Target {}

  /** The task completes immediately: for trials and measurements. */
  record Discard() implements Target {}

  /** A message to a broker that the operator has configured. */
  sealed interface Broker extends Target {

    BrokerName broker();

    Complete complete();

    /** Null means no limit. */
    @Nullable DepthLimit depth();

    /**
     * The destination that grants are checked against: the topic or exchange, or the queue if the
     * exchange is the default one.
     */
    String destination();
  }

  /** A record in a Kafka topic. */
  record Kafka(String cluster, String topic, Complete complete, @Nullable DepthLimit depth)
      implements Broker {

    @Override
    public BrokerName broker() {
      return new BrokerName(BrokerName.Kind.KAFKA, cluster);
    }

    @Override
    public String destination() {
      return topic;
    }
  }

  /**
   * A message to RabbitMQ.
   *
   * @param exchange empty means the default exchange, where the routing key is the queue
   */
  record RabbitMq(
      String cluster,
      String exchange,
      String routingKey,
      Complete complete,
      @Nullable DepthLimit depth)
      implements Broker {

    @Override
    public BrokerName broker() {
      return new BrokerName(BrokerName.Kind.RABBITMQ, cluster);
    }

    @Override
    public String destination() {
      return exchange.isEmpty() ? routingKey : exchange;
    }
  }

  /** When a task published to a broker is completed. */
  enum Complete {
    /** When the broker has confirmed the message. */
    ON_PUBLISH("onPublish"),
    /** When a consumer reports the result; a lease runs from the claim. */
    ON_REPORT("onReport");

    private final String text;

    Complete(String text) {
      this.text = text;
    }

    /** The name in the API. */
    public String text() {
      return text;
    }

    public static Optional<Complete> parse(String text) {
      return Arrays.stream(values()).filter(one -> one.text.equals(text)).findFirst();
    }
  }

  /**
   * The number of waiting messages at which publishing pauses.
   *
   * @param of the RabbitMQ queue or the Kafka consumer group that is measured
   */
  record DepthLimit(int max, String of) {}
}
