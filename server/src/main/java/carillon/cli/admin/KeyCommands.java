package carillon.cli.admin;

import static carillon.cli.Field.list;
import static carillon.cli.Field.text;

import carillon.cli.Console;
import carillon.cli.Operation;
import picocli.CommandLine;

/** {@code carillon key ...} */
public final class KeyCommands {

  private KeyCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "key",
        "Manage API keys",
        new Operation(console, "create", "POST /v1/keys", "Create a key (shown only once)")
            .with(
                text(
                        "--role ROLE",
                        "role",
                        "role: admin, owner, operator, producer, worker or viewer")
                    .required(),
                text("--name NAME", "name", "name of the key"),
                text("--expires-at TIME", "expiresAt", "expiry time. Default: never"),
                list(
                    "--types TYPE", "types", "restrict to these types (producer and worker keys)")),
        new Operation(console, "list", "GET /v1/keys", "List keys (without secrets)")
            .list("id", "name", "role", "types", "createdAt"),
        new Operation(console, "revoke", "DELETE /v1/keys/{ID}", "Revoke a key")
            .confirming("Revoke key {ID}?"));
  }
}
