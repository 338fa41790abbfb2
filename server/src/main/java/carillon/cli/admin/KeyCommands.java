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
        "Manage API keys",
        new Operation(console, "create", "POST", KEYS, "Create a key (shown only once)")
            .with(
                text(
                        "--role",
                        "ROLE",
                        "role",
                        "role: admin, owner, operator, producer, worker or viewer")
                    .required(),
                text("--name", "NAME", "name", "name of the key"),
                text("--expires-at", "TIME", "expiresAt", "expiry time. Default: never"),
                list(
                    "--types",
                    "TYPE",
                    "types",
                    "restrict to these types (producer and worker keys)")),
        new Operation(console, "list", "GET", KEYS, "List keys (without secrets)")
            .list("id", "name", "role", "types", "createdAt"),
        new Operation(console, "revoke", "DELETE", KEYS + "/{ID}", "Revoke a key")
            .with(inPath("ID"))
            .confirming("Revoke key {ID}?"));
  }
}
