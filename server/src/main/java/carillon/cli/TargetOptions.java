package carillon.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ObjectNode;

/** Where a task goes; the type's own target unless given. */
public final class TargetOptions {

  @ArgGroup(exclusive = true)
  private @Nullable Where where;

  @Option(names = "--method", paramLabel = "METHOD", description = "with --http. Default POST")
  private @Nullable String method;

  @Option(
      names = "--header",
      paramLabel = "NAME=VALUE",
      description = "with --http; can be repeated")
  private Map<String, String> headers = new LinkedHashMap<>();

  @Option(
      names = "--secret-header",
      paramLabel = "NAME=VALUE",
      description = "with --http: a header whose value is never shown; can be repeated")
  private Map<String, String> secretHeaders = new LinkedHashMap<>();

  @Option(
      names = "--timeout",
      paramLabel = "DURATION",
      description = "with --http: deadline of one attempt")
  private @Nullable String timeout;

  @Option(
      names = "--cluster",
      paramLabel = "NAME",
      description = "with --kafka-topic or --rabbitmq-queue: which of the registered ones")
  private @Nullable String cluster;

  @Option(
      names = "--complete",
      paramLabel = "WHEN",
      description =
          "with --kafka-topic or --rabbitmq-queue: onPublish or onReport. Default onReport")
  private @Nullable String complete;

  /** One of them. */
  static final class Where {
    @Option(names = "--http", paramLabel = "URL", description = "call this URL")
    private @Nullable String http;

    @Option(names = "--kafka-topic", paramLabel = "TOPIC", description = "publish to this topic")
    private @Nullable String topic;

    @Option(names = "--rabbitmq-queue", paramLabel = "QUEUE", description = "publish to this queue")
    private @Nullable String queue;

    @Option(names = "--discard", description = "complete at once")
    private boolean discard;

    /** What is left when the others were not given. */
    @SuppressWarnings("unused")
    @Option(names = "--pull", description = "wait for a worker to pull it")
    private boolean pull;
  }

  /** As the API takes it; null if nothing was given. */
  public @Nullable ObjectNode json() {
    String url = where == null ? null : where.http;
    ObjectNode broker = broker();
    if (broker == null && (cluster != null || complete != null)) {
      throw new CommandFailed("--cluster and --complete need --kafka-topic or --rabbitmq-queue");
    }
    if (url == null) {
      if (method != null || timeout != null || !headers.isEmpty() || !secretHeaders.isEmpty()) {
        throw new CommandFailed("--method, --header, --secret-header and --timeout need --http");
      }
      if (broker != null) {
        return broker;
      }
      return where == null ? null : empty(where.discard ? "discard" : "pull");
    }
    ObjectNode http = ApiCommand.JSON.createObjectNode().put("url", url);
    ApiCommand.set(http, "method", method);
    Map<String, String> all = new LinkedHashMap<>(headers);
    all.putAll(secretHeaders);
    ApiCommand.set(http, "headers", all.isEmpty() ? null : all);
    ApiCommand.set(http, "secretHeaders", secretHeaders.isEmpty() ? null : secretHeaders.keySet());
    ApiCommand.set(http, "timeout", timeout);
    ObjectNode target = ApiCommand.JSON.createObjectNode();
    target.set("http", http);
    return target;
  }

  private @Nullable ObjectNode broker() {
    if (where == null || (where.topic == null && where.queue == null)) {
      return null;
    }
    ObjectNode target = ApiCommand.JSON.createObjectNode();
    ObjectNode broker = target.putObject(where.topic != null ? "kafka" : "rabbitmq");
    ApiCommand.set(broker, "topic", where.topic);
    ApiCommand.set(broker, "routingKey", where.queue);
    ApiCommand.set(broker, "cluster", cluster);
    ApiCommand.set(broker, "complete", complete);
    return target;
  }

  private static ObjectNode empty(String kind) {
    ObjectNode target = ApiCommand.JSON.createObjectNode();
    target.set(kind, ApiCommand.JSON.createObjectNode());
    return target;
  }
}
