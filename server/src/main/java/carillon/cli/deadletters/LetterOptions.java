package carillon.cli.deadletters;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
import carillon.cli.ListOptions;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ObjectNode;

/** The options that say which dead letters. */
final class LetterOptions {

  @Option(names = "--type", paramLabel = "TYPE")
  private @Nullable String type;

  @Option(
      names = "--failure",
      paramLabel = "KIND",
      description = "why it failed: status, timeout, dns, connection ...")
  private @Nullable String failure;

  @Option(names = "--status", paramLabel = "CODE", description = "what the target answered")
  private @Nullable Integer status;

  @Option(
      names = "--error",
      paramLabel = "TEXT",
      description = "the last error or answer contains this")
  private @Nullable String error;

  @Option(names = "--died-after", paramLabel = "TIME")
  private @Nullable String diedAfter;

  @Option(names = "--died-before", paramLabel = "TIME")
  private @Nullable String diedBefore;

  @Option(names = "--key", paramLabel = "KEY", description = "business key")
  private @Nullable String key;

  @Option(names = "--metadata", paramLabel = "NAME=VALUE", description = "can be repeated")
  private Map<String, String> metadata = new LinkedHashMap<>();

  @Option(names = "--group", paramLabel = "GROUP", description = "of this group")
  private @Nullable String group;

  /** What is empty would mean every letter; rather, a variable of the script was not set. */
  private void refuseEmpty() {
    refuseEmpty("--type", type);
    refuseEmpty("--failure", failure);
    refuseEmpty("--error", error);
    refuseEmpty("--died-after", diedAfter);
    refuseEmpty("--died-before", diedBefore);
    refuseEmpty("--key", key);
    refuseEmpty("--group", group);
    metadata.keySet().forEach(name -> refuseEmpty("--metadata: the name", name));
  }

  static void refuseEmpty(String what, @Nullable String value) {
    if (value != null && value.isEmpty()) {
      throw new CommandFailed(what + " must not be empty");
    }
  }

  String query(String path, ListOptions page, @Nullable String cursor) {
    refuseEmpty();
    String query =
        ApiCommand.query(
            path,
            "type",
            type,
            "failure",
            failure,
            "status",
            status,
            "error",
            error,
            "diedAfter",
            diedAfter,
            "diedBefore",
            diedBefore,
            "key",
            key,
            "group",
            group,
            "limit",
            page.limit,
            "cursor",
            cursor);
    for (Map.Entry<String, String> pair : metadata.entrySet()) {
      String parameter =
          ApiCommand.query("", "metadata." + pair.getKey(), pair.getValue()).substring(1);
      query = query + (query.contains("?") ? "&" : "?") + parameter;
    }
    return query;
  }

  ObjectNode body() {
    refuseEmpty();
    ObjectNode body = ApiCommand.JSON.createObjectNode();
    ApiCommand.set(body, "type", type);
    ApiCommand.set(body, "failure", failure);
    ApiCommand.set(body, "status", status);
    ApiCommand.set(body, "error", error);
    ApiCommand.set(body, "diedAfter", diedAfter);
    ApiCommand.set(body, "diedBefore", diedBefore);
    ApiCommand.set(body, "key", key);
    ApiCommand.set(body, "metadata", metadata.isEmpty() ? null : metadata);
    ApiCommand.set(body, "group", group);
    return body;
  }
}
