package carillon.client.rabbitmq;

import com.rabbitmq.client.Channel;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A durable queue to declare. Immutable: every method returns a changed copy.
 *
 * <pre>{@code
 * QueueSpec.quorum("orders").deadLetter("", "orders.dead")
 * }</pre>
 */
public final class QueueSpec {

  private final String name;
  private final Map<String, Object> arguments;
  private final List<Binding> bindings;

  private record Binding(String exchange, String routingKey) {}

  private QueueSpec(String name, Map<String, Object> arguments, List<Binding> bindings) {
    this.name = name;
    this.arguments = arguments;
    this.bindings = bindings;
  }

  /** A replicated queue, which survives the loss of a broker. Does not support priorities. */
  public static QueueSpec quorum(String name) {
    return new QueueSpec(name, Map.of("x-queue-type", "quorum"), List.of());
  }

  /** A queue on one broker, which may have priorities. */
  public static QueueSpec classic(String name) {
    return new QueueSpec(name, Map.of("x-queue-type", "classic"), List.of());
  }

  /**
   * Sets where RabbitMQ sends messages that are not from Carillon, and tasks without a token whose
   * handler threw.
   *
   * @param exchange "" for the default exchange; the routing key is then a queue name
   */
  public QueueSpec deadLetter(String exchange, String routingKey) {
    return argument("x-dead-letter-exchange", exchange)
        .argument("x-dead-letter-routing-key", routingKey);
  }

  /**
   * Delivers messages with a higher priority first. Tasks have priorities 0 to 9.
   *
   * @throws IllegalArgumentException on a quorum queue
   */
  public QueueSpec maxPriority(int max) {
    if (!"classic".equals(arguments.get("x-queue-type"))) {
      throw new IllegalArgumentException("a quorum queue has no priorities; use a classic queue");
    }
    return argument("x-max-priority", max);
  }

  /** Sets any other RabbitMQ argument, such as {@code x-max-length}. */
  public QueueSpec argument(String key, Object value) {
    Map<String, Object> more = new LinkedHashMap<>(arguments);
    more.put(key, value);
    return new QueueSpec(name, Collections.unmodifiableMap(more), bindings);
  }

  /** Binds the queue to an existing exchange. */
  public QueueSpec boundTo(String exchange, String routingKey) {
    List<Binding> more = new ArrayList<>(bindings);
    more.add(new Binding(exchange, routingKey));
    return new QueueSpec(name, arguments, List.copyOf(more));
  }

  /** The name of the queue. */
  public String name() {
    return name;
  }

  /**
   * Creates the queue if it is missing.
   *
   * @throws IOException if the queue exists with other arguments
   */
  public void declare(Channel channel) throws IOException {
    channel.queueDeclare(name, true, false, false, arguments);
    for (Binding binding : bindings) {
      channel.queueBind(name, binding.exchange(), binding.routingKey());
    }
  }

  @Override
  public String toString() {
    return "QueueSpec[" + name + " " + arguments + "]";
  }
}
