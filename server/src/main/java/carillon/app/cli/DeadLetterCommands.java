package carillon.app.cli;

import carillon.client.Carillon;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon dead-letter ...} */
@Command(name = "dead-letter", description = "Tasks that kept failing")
public final class DeadLetterCommands {

  private static final String DEAD_LETTERS = "/v1/dead-letters";

  private DeadLetterCommands() {}

  /** The command with its subcommands. */
  public static CommandLine of(Console console) {
    return new CommandLine(new DeadLetterCommands())
        .addSubcommand(new All(console))
        .addSubcommand(new Redrive(console))
        .addSubcommand(new Purge(console))
        .addSubcommand(new RestoreCommand(console));
  }

  @Command(name = "list", description = "List dead tasks")
  static final class All extends ApiCommand {

    @Option(names = "--type", paramLabel = "TYPE")
    private @Nullable String type;

    @Option(names = "--error", paramLabel = "TEXT", description = "the last error contains this")
    private @Nullable String error;

    @Mixin private final ListOptions page = new ListOptions();

    All(Console console) {
      super(console);
    }

    @Override
    JsonNode ask(Carillon carillon) {
      return carillon.get(
          query(
              DEAD_LETTERS,
              "type",
              type,
              "error",
              error,
              "limit",
              page.limit,
              "cursor",
              page.cursor));
    }

    @Override
    void show(JsonNode answer) {
      new Table(console).list(answer, "id", "type", "key", "finishedAt", "attempt", "error");
    }
  }

  /** Which dead tasks a bulk command means. Saying nothing is not saying all. */
  static final class Filter {

    @Option(names = "--type", paramLabel = "TYPE")
    private @Nullable String type;

    @Option(names = "--error", paramLabel = "TEXT", description = "the last error contains this")
    private @Nullable String error;

    @Option(names = "--id", split = ",", paramLabel = "ID", description = "can be repeated")
    private List<String> ids = new ArrayList<>();

    @Option(names = "--all", description = "every dead task of the tenant")
    private boolean all;

    ObjectNode body() {
      boolean some = type != null || error != null || !ids.isEmpty();
      if (some == all) {
        throw new CommandFailed("give either --all, or at least one of --type, --error and --id");
      }
      ObjectNode body = ApiCommand.JSON.createObjectNode();
      ApiCommand.set(body, "type", type);
      ApiCommand.set(body, "error", error);
      ApiCommand.set(body, "ids", ids.isEmpty() ? null : ids);
      ApiCommand.set(body, "all", all ? true : null);
      return body;
    }
  }

  @Command(name = "redrive", description = "Give dead tasks a fresh budget of attempts")
  static final class Redrive extends ApiCommand {

    @Mixin private final Filter filter = new Filter();

    @Option(names = "--rate", paramLabel = "N", description = "at most this many a second")
    private @Nullable Integer rate;

    Redrive(Console console) {
      super(console);
    }

    @Override
    JsonNode ask(Carillon carillon) {
      ObjectNode body = filter.body();
      set(body, "rate", rate);
      return carillon.post(DEAD_LETTERS + "/redrive", body);
    }
  }

  @Command(name = "purge", description = "Remove dead tasks for good")
  static final class Purge extends ApiCommand {

    @Mixin private final Filter filter = new Filter();

    Purge(Console console) {
      super(console);
    }

    @Override
    JsonNode ask(Carillon carillon) {
      return carillon.post(DEAD_LETTERS + "/purge", filter.body());
    }
  }
}
