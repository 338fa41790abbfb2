package carillon.cli.admin;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.cli.ListOptions;
import carillon.cli.NamedCommand;
import carillon.cli.Table;
import carillon.client.Carillon;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon type ...} */
@Command(name = "type", description = "The settings that tasks of one type share")
public final class TypeCommands {

  private static final String TYPES = "/v1/types";

  private TypeCommands() {}

  /** The command with its subcommands. */
  public static CommandLine of(Console console) {
    return new CommandLine(new TypeCommands())
        .addSubcommand(new Get(console))
        .addSubcommand(new All(console))
        .addSubcommand(new Put(console))
        .addSubcommand(new Delete(console))
        .addSubcommand(new Pause(console))
        .addSubcommand(new Resume(console));
  }

  @Command(name = "get", description = "Show a type")
  static final class Get extends NamedCommand {

    Get(Console console) {
      super(console, TYPES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(path(""));
    }
  }

  @Command(name = "list", description = "List the types")
  static final class All extends ApiCommand {

    @Mixin private final ListOptions page = new ListOptions();

    All(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(query(TYPES, "limit", page.limit, "cursor", page.cursor));
    }

    @Override
    public void show(JsonNode answer) {
      new Table(console).list(answer, "name", "paused", "priority", "timeout", "target");
    }
  }

  @Command(name = "put", description = "Make a type, or replace its settings")
  static final class Put extends NamedCommand {

    @Parameters(
        paramLabel = "JSON|@FILE|-",
        index = "1",
        arity = "0..1",
        description = "its settings, a file of them, or standard input")
    private String settings = "{}";

    @Option(names = "--http", paramLabel = "URL", description = "its tasks call this URL")
    private @Nullable String http;

    @Option(
        names = "--on-complete",
        paramLabel = "URL",
        description = "is called when one of them has completed")
    private @Nullable String onComplete;

    @Option(
        names = "--on-dead",
        paramLabel = "URL",
        description = "is called when one of them has died")
    private @Nullable String onDead;

    Put(Console console) {
      super(console, TYPES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      if (!(readJson("the settings", settings) instanceof ObjectNode type)) {
        throw new CommandFailed("the settings must be a JSON object");
      }
      if (http != null) {
        type.putObject("target").putObject("http").put("url", http);
      }
      set(type, "onComplete", callback(onComplete));
      set(type, "onDead", callback(onDead));
      return carillon.put(path(""), type);
    }
  }

  @Command(name = "delete", description = "Delete a type that has no live tasks")
  static final class Delete extends NamedCommand {

    Delete(Console console) {
      super(console, TYPES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.delete(path(""));
    }
  }

  @Command(name = "pause", description = "Start no more of its tasks")
  static final class Pause extends NamedCommand {

    Pause(Console console) {
      super(console, TYPES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.post(path("/pause"), null);
    }
  }

  @Command(name = "resume", description = "Start its tasks again")
  static final class Resume extends NamedCommand {

    Resume(Console console) {
      super(console, TYPES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.post(path("/resume"), null);
    }
  }
}
