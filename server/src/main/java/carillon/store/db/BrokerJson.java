package carillon.store.db;

import carillon.model.target.Target;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** The JSON of targets at brokers. */
final class BrokerJson {

  private BrokerJson() {}

  static ObjectNode of(Target.Broker target) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    ObjectNode inner = node.putObject(target.broker().kind().text());
    inner.put("cluster", target.broker().cluster());
    switch (target) {
      case Target.Kafka kafka -> inner.put("topic", kafka.topic());
      case Target.RabbitMq rabbit -> {
        inner.put("exchange", rabbit.exchange());
        inner.put("routingKey", rabbit.routingKey());
      }
    }
    inner.put("complete", target.complete().text());
    Target.DepthLimit depth = target.depth();
    if (depth != null) {
      inner.put("maxDepth", depth.max());
      inner.put(target instanceof Target.Kafka ? "group" : "queue", depth.of());
    }
    return node;
  }

  static Target target(JsonNode node) {
    JsonNode kafka = node.get("kafka");
    if (kafka != null) {
      return new Target.Kafka(
          text(kafka, "cluster"), text(kafka, "topic"), complete(kafka), depth(kafka, "group"));
    }
    JsonNode rabbit = node.get("rabbitmq");
    return new Target.RabbitMq(
        text(rabbit, "cluster"),
        text(rabbit, "exchange"),
        text(rabbit, "routingKey"),
        complete(rabbit),
        depth(rabbit, "queue"));
  }

  private static String text(JsonNode node, String name) {
    return node.get(name).asString();
  }

  private static Target.Complete complete(JsonNode node) {
    return Target.Complete.parse(text(node, "complete")).orElseThrow();
  }

  private static Target.@Nullable DepthLimit depth(JsonNode node, String of) {
    return node.has("maxDepth")
        ? new Target.DepthLimit(node.get("maxDepth").asInt(), text(node, of))
        : null;
  }
}
