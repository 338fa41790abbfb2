package carillon.cli.admin;

import static carillon.cli.Field.text;
import static carillon.cli.Field.whole;

import carillon.cli.Console;
import carillon.cli.Operation;
import picocli.CommandLine;

/** {@code carillon type ...} */
public final class TypeCommands {

  private TypeCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "type",
        "Manage task types",
        new Operation(console, "get", "GET /v1/types/{NAME}", "Show a type"),
        new Operation(console, "list", "GET /v1/types", "List types")
            .list("name", "paused", "priority", "timeout", "target"),
        new Operation(console, "put", "PUT /v1/types/{NAME}", "Create or replace a type")
            .with(
                whole("settings as JSON, @file, or - for standard input"),
                text("--http URL", "target.http.url", "HTTP target of its tasks"),
                text(
                    "--on-complete URL",
                    "onComplete.http.url",
                    "URL to call when a task completes"),
                text(
                    "--on-dead URL",
                    "onDead.http.url",
                    "URL to call when a task is dead-lettered")),
        new Operation(
                console,
                "delete",
                "DELETE /v1/types/{NAME}",
                "Delete a type without pending or running tasks")
            .confirming("Delete type {NAME}?"),
        new Operation(
            console, "pause", "POST /v1/types/{NAME}/pause", "Pause a type: no task starts"),
        new Operation(console, "resume", "POST /v1/types/{NAME}/resume", "Resume a type"));
  }
}
