package carillon.cli.admin;

import static carillon.cli.Field.inPath;
import static carillon.cli.Field.list;
import static carillon.cli.Field.text;

import carillon.cli.Console;
import carillon.cli.Operation;
import picocli.CommandLine;

/** {@code carillon key ...} */
public final class KeyCommands {

  private static final String KEYS = "/v1/keys";

  private KeyCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "key",
        "API keys",
        new Operation(console, "create", "POST", KEYS, "Make a key; it is shown this once")
            .with(
                text(
                        "--role",
                        "ROLE",
                        "role",
                        "admin, owner, operator, producer, worker or viewer")
                    .required(),
                text("--name", "NAME", "name", "what it is for"),
                list(
                    "--types",
                    "TYPE",
                    "types",
                    "for producers and workers: the only types it may touch")),
        new Operation(console, "list", "GET", KEYS, "List the keys, without the keys themselves")
            .list("id", "name", "role", "types", "createdAt"),
        new Operation(console, "revoke", "DELETE", KEYS + "/{ID}", "End a key at once")
            .with(inPath("ID")));
  }
}
