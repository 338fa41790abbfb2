package carillon.cli;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The options that say where a task goes; the type's own target unless given. */
public final class TargetFields {

  private static final String BROKER = "broker"; // becomes kafka or rabbitmq

  private TargetFields() {}

  public static Operation addTo(Operation operation) {
    return operation
        .oneOf(
            false,
            Field.text("--http", "URL", "target.http.url", "call this URL"),
            Field.text("--kafka-topic", "TOPIC", "target.kafka.topic", "publish to this topic"),
            Field.text(
                "--rabbitmq-queue",
                "QUEUE",
                "target.rabbitmq.routingKey",
                "publish to this queue"),
            Field.empty("--discard", "target.discard", "complete at once"),
            Field.empty("--pull", "target.pull", "wait for a worker to pull it"))
        .with(
            Field.text("--method", "METHOD", "target.http.method", "with --http. Default POST"),
            Field.pairs("--header", "target.http.headers", "with --http; can be repeated"),
            Field.pairs(
                "--secret-header",
                "target.http.secretHeaders",
                "with --http: a header whose value is never shown; can be repeated"),
            Field.text(
                "--timeout",
                "DURATION",
                "target.http.timeout",
                "with --http: deadline of one attempt"),
            Field.text(
                "--cluster",
                "NAME",
                "target.broker.cluster",
                "with --kafka-topic or --rabbitmq-queue: which of the registered ones"),
            Field.text(
                "--complete",
                "WHEN",
                "target.broker.complete",
                "with --kafka-topic or --rabbitmq-queue: onPublish or onReport. Default onReport"))
        .prepare(TargetFields::finish);
  }

  private static void finish(ObjectNode request) {
    if (!(request.get("target") instanceof ObjectNode target)) {
      return;
    }
    JsonNode broker = target.remove(BROKER);
    if (broker != null) {
      JsonNode chosen = target.has("kafka") ? target.get("kafka") : target.get("rabbitmq");
      if (!(chosen instanceof ObjectNode object)) {
        throw new CommandFailed("--cluster and --complete need --kafka-topic or --rabbitmq-queue");
      }
      object.setAll((ObjectNode) broker);
    }
    if (target.get("http") instanceof ObjectNode http) {
      if (!http.has("url")) {
        throw new CommandFailed("--method, --header, --secret-header and --timeout need --http");
      }
      if (http.remove("secretHeaders") instanceof ObjectNode secrets) {
        http.withObjectProperty("headers").setAll(secrets);
        secrets.propertyNames().forEach(http.withArrayProperty("secretHeaders")::add);
      }
    }
  }
}
