package carillon.model.target;

import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Where the attempts of a task go. */
public sealed interface Target {

  /**
   * An HTTP request.
   *
   * @param secretHeaders names of headers whose values are secrets though they do not look so; as
   *     they are written in the headers
   * @param body sent instead of the payload, if there is one
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

    /** Without headers that are marked as secret. */
    public Http(
        String url,
        String method,
        Map<String, String> headers,
        @Nullable String body,
        @Nullable Duration timeout) {
      this(url, method, headers, Set.of(), body, timeout);
    }

    /** Whether the value of this header is shown to nobody. */
    public boolean isSecret(String header) {
      return secretHeaders.contains(header) || SecretNames.isHeader(header);
    }

    /** Without values: this is a record, and records are easily logged. */
    @Override
    public String toString() {
      return "Http[" + method + " " + SecretUrl.hidden(url) + "]";
    }
  }

  /** Waits for a worker to come and claim it. */
  record Pull() implements Target {}

  /** Completes at once: for trying out and for measuring. */
  record Discard() implements Target {}

  /** A message to a broker that the operator has registered. */
  sealed interface Broker extends Target {

    BrokerName broker();

    Complete complete();

    /** When nothing more is sent for a while; null means never. */
    @Nullable DepthLimit depth();

    /**
     * What tenants are granted: the topic, the exchange, or with the default exchange the queue.
     */
    String place();
  }

  /** A record in a topic of Kafka. */
  record Kafka(String cluster, String topic, Complete complete, @Nullable DepthLimit depth)
      implements Broker {

    @Override
    public BrokerName broker() {
      return new BrokerName(BrokerName.Kind.KAFKA, cluster);
    }

    @Override
    public String place() {
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
    public String place() {
      return exchange.isEmpty() ? routingKey : exchange;
    }
  }

  /** What ends a task that was given to a broker. */
  enum Complete {
    /** That the broker has confirmed it. */
    ON_PUBLISH("onPublish"),
    /** That a consumer reports it; a lease runs from the claim on. */
    ON_REPORT("onReport");

    private final String text;

    Complete(String text) {
      this.text = text;
    }

    /** As everybody outside writes it. */
    public String text() {
      return text;
    }

    public static Optional<Complete> parse(String text) {
      return Arrays.stream(values()).filter(one -> one.text.equals(text)).findFirst();
    }
  }

  /**
   * How many messages may wait in a queue before nothing more is sent to it.
   *
   * @param of whose: the queue of RabbitMQ, the consumer group of Kafka
   */
  record DepthLimit(int most, String of) {}
}
