package carillon.cli.admin;

import static carillon.cli.Field.inPath;
import static carillon.cli.Field.text;
import static carillon.cli.Field.whole;

import carillon.cli.Console;
import carillon.cli.Field;
import carillon.cli.Operation;
import picocli.CommandLine;

/** {@code carillon type ...} */
public final class TypeCommands {

  private static final String TYPES = "/v1/types";
  private static final String TYPE = "/v1/types/{NAME}";
  private static final Field NAME = inPath("NAME");

  private TypeCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "type",
        "Manage task types",
        new Operation(console, "get", "GET", TYPE, "Show a type").with(NAME),
        new Operation(console, "list", "GET", TYPES, "List types")
            .list("name", "paused", "priority", "timeout", "target"),
        new Operation(console, "put", "PUT", TYPE, "Create or replace a type")
            .with(
                NAME,
                whole("settings as JSON, @file, or - for standard input"),
                text("--http", "URL", "target.http.url", "HTTP target of its tasks"),
                text(
                    "--on-complete",
                    "URL",
                    "onComplete.http.url",
                    "URL to call when a task completes"),
                text(
                    "--on-dead",
                    "URL",
                    "onDead.http.url",
                    "URL to call when a task is dead-lettered")),
        new Operation(
                console, "delete", "DELETE", TYPE, "Delete a type without pending or running tasks")
            .with(NAME)
            .confirming("Delete type {NAME}?"),
        new Operation(console, "pause", "POST", TYPE + "/pause", "Pause a type: no task starts")
            .with(NAME),
        new Operation(console, "resume", "POST", TYPE + "/resume", "Resume a type").with(NAME));
  }
}
