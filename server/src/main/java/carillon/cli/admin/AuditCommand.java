package carillon.cli.admin;

import carillon.cli.ApiCommand;
import carillon.cli.Console;
import carillon.cli.ListOptions;
import carillon.cli.Table;
import carillon.client.Carillon;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;

/** {@code carillon audit}: who changed what. */
@Command(name = "audit", description = "List who changed what, newest first")
public final class AuditCommand extends ApiCommand {

  @Option(
      names = "--action",
      paramLabel = "ACTION",
      description = "such as redrive.start or task.cancel")
  private @Nullable String action;

  @Option(
      names = "--subject",
      paramLabel = "SUBJECT",
      description = "what was changed, such as the id of a task or redrive")
  private @Nullable String subject;

  @Mixin private final ListOptions page = new ListOptions();

  public AuditCommand(Console console) {
    super(console);
  }

  @Override
  protected JsonNode ask(Carillon carillon) {
    return carillon.get(
        query(
            "/v1/audit",
            "action",
            action,
            "subject",
            subject,
            "limit",
            page.limit,
            "cursor",
            page.cursor));
  }

  @Override
  public void show(JsonNode answer) {
    new Table(console).list(answer, "at", "by", "action", "subject", "detail");
  }
}
