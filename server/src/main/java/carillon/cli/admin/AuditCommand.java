package carillon.cli.admin;

import static carillon.cli.Field.text;

import carillon.cli.Console;
import carillon.cli.Operation;
import picocli.CommandLine;

/** {@code carillon audit} */
public final class AuditCommand {

  private AuditCommand() {}

  public static CommandLine of(Console console) {
    return new Operation(console, "audit", "GET /v1/audit", "List audit entries, newest first")
        .with(
            text("--action ACTION", "action", "action, e.g. redrive.start or task.cancel"),
            text("--subject SUBJECT", "subject", "what was changed, e.g. a task or redrive ID"))
        .list("at", "by", "action", "subject", "detail")
        .commandLine();
  }
}
