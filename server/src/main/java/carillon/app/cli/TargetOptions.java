package carillon.app.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ObjectNode;

/** Where a task goes; the type's own target unless given. */
final class TargetOptions {

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
      names = "--timeout",
      paramLabel = "DURATION",
      description = "with --http: deadline of one attempt")
  private @Nullable String timeout;

  /** One of them. */
  static final class Where {
    @Option(names = "--http", paramLabel = "URL", description = "call this URL")
    private @Nullable String http;

    @Option(names = "--discard", description = "complete at once")
    private boolean discard;

    /** What is left when the others were not given. */
    @SuppressWarnings("unused")
    @Option(names = "--pull", description = "wait for a worker to pull it")
    private boolean pull;
  }

  /** As the API takes it; null if nothing was given. */
  @Nullable ObjectNode json() {
    String url = where == null ? null : where.http;
    if (url == null) {
      if (method != null || timeout != null || !headers.isEmpty()) {
        throw new CommandFailed("--method, --header and --timeout need --http");
      }
      return where == null ? null : empty(where.discard ? "discard" : "pull");
    }
    ObjectNode http = ApiCommand.JSON.createObjectNode().put("url", url);
    ApiCommand.set(http, "method", method);
    ApiCommand.set(http, "headers", headers.isEmpty() ? null : headers);
    ApiCommand.set(http, "timeout", timeout);
    ObjectNode target = ApiCommand.JSON.createObjectNode();
    target.set("http", http);
    return target;
  }

  private static ObjectNode empty(String kind) {
    ObjectNode target = ApiCommand.JSON.createObjectNode();
    target.set(kind, ApiCommand.JSON.createObjectNode());
    return target;
  }
}
