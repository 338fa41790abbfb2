package carillon.cli.schedules;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.client.Carillon;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon schedule preview} */
@Command(name = "preview", description = "Say in words what an expression means, and when it fires")
final class PreviewCommand extends ApiCommand {

  @Parameters(
      paramLabel = "CRON",
      arity = "0..1",
      description = "such as \"0 9 * * MON-FRI\"; in quotes, or the shell replaces the stars")
  private @Nullable String cron;

  @Option(names = "--every", paramLabel = "DURATION", description = "instead of CRON, such as 90s")
  private @Nullable String every;

  @Mixin private final RecurrenceOptions recurrence = new RecurrenceOptions();

  @Option(names = "--count", paramLabel = "N", description = "so many times. Default 5")
  private @Nullable Integer count;

  @Option(names = "--from", paramLabel = "TIME", description = "those after it. Default now")
  private @Nullable String from;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "the schedule's name, which an H in the expression is made from")
  private @Nullable String name;

  PreviewCommand(Console console) {
    super(console);
  }

  @Override
  protected JsonNode ask(Carillon carillon) {
    if ((cron == null) == (every == null)) {
      throw new CommandFailed("give either an expression in quotes, or --every");
    }
    ObjectNode body = JSON.createObjectNode();
    set(body, "cron", cron);
    set(body, "every", every);
    recurrence.addTo(body);
    set(body, "count", count);
    set(body, "from", from);
    set(body, "name", name);
    return carillon.post(ScheduleCommands.SCHEDULES + "/preview", body);
  }

  @Override
  public void show(JsonNode answer) {
    new ScheduleView(console).show(answer);
  }
}
