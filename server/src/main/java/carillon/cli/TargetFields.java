package carillon.cli;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The options for the target of a task. */
public final class TargetFields {

  private static final String BROKER = "broker"; // becomes kafka or rabbitmq

  private TargetFields() {}

  public static Operation addTo(Operation operation) {
    return operation
        .oneOf(
            false,
            Field.text("--http URL", "target.http.url", "call this URL"),
            Field.text("--kafka-topic TOPIC", "target.kafka.topic", "publish to this topic"),
            Field.text(
                "--rabbitmq-queue QUEUE", "target.rabbitmq.routingKey", "publish to this queue"),
            Field.empty("--discard", "target.discard", "no-op: complete immediately"),
            Field.empty("--pull", "target.pull", "wait for a pull worker"))
        .with(
            Field.text(
                "--method METHOD",
                "target.http.method",
                "HTTP method (with --http). Default: POST"),
            Field.pairs("--header", "target.http.headers", "HTTP header (with --http); repeatable"),
            Field.pairs(
                "--secret-header",
                "target.http.secretHeaders",
                "HTTP header whose value is never shown (with --http); repeatable"),
            Field.text(
                "--timeout DURATION", "target.http.timeout", "attempt timeout (with --http)"),
            Field.text(
                "--cluster NAME",
                "target.broker.cluster",
                "broker cluster name (with --kafka-topic or --rabbitmq-queue)"),
            Field.text(
                "--complete WHEN",
                "target.broker.complete",
                "onPublish or onReport (with --kafka-topic or --rabbitmq-queue). Default:"
                    + " onReport"))
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
