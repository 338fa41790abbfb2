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
        "The settings that tasks of one type share",
        new Operation(console, "get", "GET", TYPE, "Show a type").with(NAME),
        new Operation(console, "list", "GET", TYPES, "List the types")
            .list("name", "paused", "priority", "timeout", "target"),
        new Operation(console, "put", "PUT", TYPE, "Make a type, or replace its settings")
            .with(
                NAME,
                whole("its settings, a file of them, or standard input"),
                text("--http", "URL", "target.http.url", "its tasks call this URL"),
                text(
                    "--on-complete",
                    "URL",
                    "onComplete.http.url",
                    "is called when one of them has completed"),
                text(
                    "--on-dead",
                    "URL",
                    "onDead.http.url",
                    "is called when one of them has died")),
        new Operation(console, "delete", "DELETE", TYPE, "Delete a type that has no live tasks")
            .with(NAME),
        new Operation(console, "pause", "POST", TYPE + "/pause", "Start no more of its tasks")
            .with(NAME),
        new Operation(console, "resume", "POST", TYPE + "/resume", "Start its tasks again")
            .with(NAME));
  }
}
