package carillon.cli.tasks;

import static carillon.cli.Field.argument;
import static carillon.cli.Field.choice;
import static carillon.cli.Field.idempotencyKey;
import static carillon.cli.Field.json;
import static carillon.cli.Field.number;
import static carillon.cli.Field.pairs;
import static carillon.cli.Field.text;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.cli.Field;
import carillon.cli.Operation;
import carillon.cli.Table;
import carillon.cli.TargetFields;
import carillon.model.task.TaskState;
import java.util.Arrays;
import java.util.List;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon task ...} */
public final class TaskCommands {

  private static final Field PAYLOAD =
      json("--payload", "payload", "JSON, @file, or - for standard input");
  private static final Field DUE =
      text("--due --due-at TIME", "dueAt", "due time, e.g. 2027-03-28T09:00:00+02:00");

  private static final List<String> STATES =
      Arrays.stream(TaskState.values()).map(TaskState::name).toList();

  private TaskCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "task",
        "Create, list and manage tasks",
        create(console),
        edit(console),
        new Operation(
                console, "get", "GET /v1/tasks/{ID}", "Show a task with its attempts and history")
            .showing(TaskCommands::showTask),
        new Operation(
                console,
                "attempts",
                "GET /v1/tasks/{ID}/attempts",
                "List the attempts of a task, newest first")
            .list()
            .showing(TaskCommands::showAttempts),
        list(console),
        cancel(console),
        new Operation(console, "run", "POST /v1/tasks/{ID}/run", "Run a pending task now"),
        new Operation(
            console,
            "redrive",
            "POST /v1/tasks/{ID}/redrive",
            "Redrive a dead task (resets its attempts)"));
  }

  private static Operation create(Console console) {
    Operation create =
        new Operation(console, "create", "POST /v1/tasks", "Create a task")
            .with(argument("TYPE", "type", "task type; created on first use"), PAYLOAD)
            .oneOf(false, DUE, text("--in --delay DURATION", "delay", "delay, e.g. 30s"));
    return TargetFields.addTo(create)
        .with(
            text("--key KEY", "key", "business key, for lookup and cancel"),
            number("--priority 0..9", "priority", "higher is more urgent. Default: 5"),
            number("--max-attempts N", "retry.maxAttempts", "maximum attempts"),
            text("--ttl DURATION", "ttl", "expire the task if it has not started within this time"),
            text(
                "--unique-for DURATION",
                "unique.for",
                "return the existing task of this type and key within this time"),
            text(
                "--concurrency-key KEY",
                "concurrencyKey",
                "run at most one task of this type with this concurrency key at a time"),
            pairs("--metadata", "metadata", "metadata, searchable; repeatable"),
            text("--on-complete URL", "onComplete.http.url", "URL to call on completion"),
            text("--on-dead URL", "onDead.http.url", "URL to call when it is dead-lettered"),
            idempotencyKey());
  }

  private static Operation edit(Console console) {
    Operation edit =
        new Operation(console, "edit", "PATCH /v1/tasks/{ID}", "Edit a pending or dead task")
            .with(PAYLOAD, DUE);
    return TargetFields.addTo(edit)
        .with(
            text("--key KEY", "key", "business key"),
            number("--priority 0..9", "priority", "higher is more urgent"),
            json("--retry", "retry", "retry policy; replaces the current one"))
        .prepare(
            patch -> {
              if (patch.isEmpty()) {
                throw new CommandFailed(
                    "specify at least one of --payload, --due, --http, --pull, --discard, --key,"
                        + " --priority and --retry");
              }
            });
  }

  private static Operation list(Console console) {
    return new Operation(console, "list", "GET /v1/tasks", "List tasks")
        .with(
            text("--type TYPE", "type", "task type"),
            choice("--status STATUS", "status", STATES),
            text("--key KEY", "key", "business key"),
            text("--schedule NAME", "schedule", "created by this schedule"),
            text("--due-after TIME", "dueAfter", "due after this time"),
            text("--due-before TIME", "dueBefore", "due before this time"),
            text("--error TEXT", "error", "last error or response contains this text"))
        .list("id", "type", "key", "status", "dueAt", "attempt", "error")
        .with(pairs("--metadata", "metadata", "metadata to match; repeatable"));
  }

  private static Operation cancel(Console console) {
    Operation cancel =
        new Operation(
            console,
            "cancel",
            "POST /v1/tasks/{ID?}/cancel",
            "Cancel a task by ID, or tasks by type and key");
    return cancel
        .with(text("--type TYPE", "type", "task type"), text("--key KEY", "key", "business key"))
        .prepare(
            filter -> {
              if (cancel.isGiven("ID") != filter.isEmpty()) {
                throw new CommandFailed("specify a task ID, or --type and --key");
              }
            });
  }

  private static void showTask(Console console, JsonNode response) {
    if (response instanceof ObjectNode task && response.path("attempts").isArray()) {
      task.set("attempts", lines(response.path("attempts")));
    }
    new Table(console).object(response);
  }

  private static void showAttempts(Console console, JsonNode response) {
    ObjectNode list = ApiCommand.JSON.createObjectNode();
    list.set("items", lines(response.path("items")));
    list.set("nextCursor", response.path("nextCursor"));
    new Table(console)
        .list(
            list,
            "attempt",
            "by",
            "startedAt",
            "duration",
            "outcome",
            "status",
            "failure",
            "cause",
            "error");
  }

  /** One line per attempt: the failure in columns, without the request. */
  private static ArrayNode lines(JsonNode attempts) {
    ArrayNode lines = ApiCommand.JSON.createArrayNode();
    for (JsonNode attempt : attempts) {
      ObjectNode line = lines.addObject();
      for (var field : attempt.properties()) {
        JsonNode value = field.getValue();
        if (field.getKey().equals("error") && value.isObject()) {
          line.set("failure", value.path("kind"));
          line.set("cause", value.path("cause"));
          line.set("error", value.path("message"));
        } else if (!field.getKey().equals("request")) {
          line.set(field.getKey(), value);
        }
      }
    }
    return lines;
  }
}
