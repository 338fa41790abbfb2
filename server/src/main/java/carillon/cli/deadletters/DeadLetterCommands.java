package carillon.cli.deadletters;

import static carillon.cli.Field.flag;
import static carillon.cli.Field.list;
import static carillon.cli.Field.number;
import static carillon.cli.Field.pairs;
import static carillon.cli.Field.text;

import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.cli.Field;
import carillon.cli.Operation;
import carillon.client.Carillon;
import java.util.List;
import java.util.function.Supplier;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon dead-letter ...} */
public final class DeadLetterCommands {

  private static final Field TYPE = text("--type TYPE", "type", "task type");
  private static final Field FAILURE =
      text("--failure KIND", "failure", "failure kind: status, timeout, dns, connection, …");
  private static final Field STATUS =
      number("--status CODE", "status", "HTTP status of the response");

  private static final List<Field> FILTER =
      List.of(
          TYPE,
          FAILURE,
          STATUS,
          text("--error TEXT", "error", "last error or response contains this text"),
          text("--died-after TIME", "diedAfter", "dead-lettered after this time"),
          text("--died-before TIME", "diedBefore", "dead-lettered before this time"),
          text("--key KEY", "key", "business key"),
          text("--group GROUP", "group", "dead letters of this group"),
          pairs("--metadata", "metadata", "metadata to match; repeatable"));

  private DeadLetterCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "dead-letter",
        "Manage dead letters",
        new Operation(console, "list", "GET /v1/dead-letters", "List dead letters, newest first")
            .with(FILTER)
            .list("id", "type", "key", "diedAt", "attempt", "group", "error"),
        new Operation(
                console, "groups", "GET /v1/dead-letters/groups", "Group dead letters by error")
            .with(TYPE, FAILURE, STATUS)
            .list("group", "type", "failure", "status", "letters", "lastSeenAt", "error"),
        bulk(new Operation(
                console,
                "redrive",
                "POST /v1/dead-letters/redrive",
                "Redrive dead letters (resets their attempts)"))
            .with(number("--rate N", "rate", "rate limit, tasks per second"))
            .watching(RedriveCommands.SUBJECT),
        bulk(new Operation(
                console, "purge", "POST /v1/dead-letters/purge", "Permanently delete dead letters"))
            .confirming("Permanently delete the matching dead letters?")
            .calling(DeadLetterCommands::purge),
        new RestoreCommand(console));
  }

  /** Adds the filter of a bulk command. An empty filter is an error, not "all". */
  private static Operation bulk(Operation operation) {
    return operation
        .with(FILTER)
        .with(
            list("--id ID", "ids", "task ID; repeatable"),
            flag("--all", "all", "all dead letters of the tenant"))
        .prepare(
            filter -> {
              if (filterSize(filter) == 0 || (filter.has("all") && filterSize(filter) > 1)) {
                throw new CommandFailed(
                    "specify either --all, or at least one of --type, --failure, --status, --error,"
                        + " --key, --group, --died-after, --died-before, --metadata and --id");
              }
            })
        .with(flag("--dry-run", "dryRun", "show how many would be affected"));
  }

  private static int filterSize(ObjectNode filter) {
    return filter.size() - (filter.has("dryRun") ? 1 : 0) - (filter.has("rate") ? 1 : 0);
  }

  private static JsonNode purge(Carillon carillon, Console console, Supplier<JsonNode> send) {
    JsonNode response = send.get();
    long now = response.path("purged").asLong(0);
    long matched = response.path("matched").asLong(0);
    long purged = now;
    // A call has a time limit. One that purged nothing would not do better if repeated.
    while (response.path("more").asBoolean(false) && now > 0) {
      console.err().println("purged " + purged + " of " + matched);
      response = send.get();
      now = response.path("purged").asLong(0);
      matched = Math.max(matched, purged + response.path("matched").asLong(0));
      purged += now;
    }
    if (response instanceof ObjectNode sum && sum.has("purged")) {
      sum.put("matched", matched).put("purged", purged);
    }
    return response;
  }
}
