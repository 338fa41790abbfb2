package carillon.cli.deadletters;

import carillon.cli.ApiCommand;
import carillon.cli.Console;
import carillon.cli.ListOptions;
import carillon.cli.Table;
import carillon.client.Carillon;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;

/** {@code carillon redrive ...} */
@Command(name = "redrive", description = "Watch, stop and undo redrives of dead tasks")
public final class RedriveCommands {

  static final String REDRIVES = "/v1/redrives";

  private RedriveCommands() {}

  /** The command with its subcommands. */
  public static CommandLine of(Console console) {
    return new CommandLine(new RedriveCommands())
        .addSubcommand(new All(console))
        .addSubcommand(new Get(console))
        .addSubcommand(new Stop(console))
        .addSubcommand(new Undo(console));
  }

  @Command(name = "list", description = "List redrives, newest first")
  static final class All extends ApiCommand {

    @Mixin private final ListOptions page = new ListOptions();

    All(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(query(REDRIVES, "limit", page.limit, "cursor", page.cursor));
    }

    @Override
    public void show(JsonNode answer) {
      new Table(console)
          .list(answer, "id", "status", "matched", "redriven", "undone", "rate", "createdAt", "by");
    }
  }

  @Command(name = "get", description = "Show a redrive")
  static final class Get extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    @Mixin private final RedriveWatch watch = new RedriveWatch();

    Get(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return watch.until(carillon, console, () -> carillon.get(path(REDRIVES + "/", id, "")));
    }
  }

  @Command(name = "stop", description = "Redrive no further task; what is still dead stays dead")
  static final class Stop extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    Stop(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.post(path(REDRIVES + "/", id, "/stop"), null);
    }
  }

  @Command(name = "undo", description = "Stop it, and make dead again what has not started since")
  static final class Undo extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    @Mixin private final RedriveWatch watch = new RedriveWatch();

    Undo(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return watch.until(
          carillon, console, () -> carillon.post(path(REDRIVES + "/", id, "/undo"), null));
    }
  }
}
