package carillon.cli.admin;

import carillon.cli.ApiCommand;
import carillon.cli.Console;
import carillon.cli.ListOptions;
import carillon.cli.Table;
import carillon.client.Carillon;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon key ...} */
@Command(name = "key", description = "API keys")
public final class KeyCommands {

  private static final String KEYS = "/v1/keys";

  private KeyCommands() {}

  /** The command with its subcommands. */
  public static CommandLine of(Console console) {
    return new CommandLine(new KeyCommands())
        .addSubcommand(new Create(console))
        .addSubcommand(new All(console))
        .addSubcommand(new Revoke(console));
  }

  @Command(name = "create", description = "Make a key; it is shown this once")
  static final class Create extends ApiCommand {

    @Option(
        names = "--role",
        required = true,
        paramLabel = "ROLE",
        description = "admin, owner, operator, producer, worker or viewer")
    private String role = "";

    @Option(names = "--name", paramLabel = "NAME", description = "what it is for")
    private @Nullable String name;

    @Option(
        names = "--types",
        split = ",",
        paramLabel = "TYPE",
        description = "for producers and workers: the only types it may touch")
    private List<String> types = new ArrayList<>();

    Create(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      ObjectNode key = JSON.createObjectNode().put("role", role);
      set(key, "name", name);
      set(key, "types", types.isEmpty() ? null : types);
      return carillon.post(KEYS, key);
    }
  }

  @Command(name = "list", description = "List the keys, without the keys themselves")
  static final class All extends ApiCommand {

    @Mixin private final ListOptions page = new ListOptions();

    All(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(query(KEYS, "limit", page.limit, "cursor", page.cursor));
    }

    @Override
    public void show(JsonNode answer) {
      new Table(console).list(answer, "id", "name", "role", "types", "createdAt");
    }
  }

  @Command(name = "revoke", description = "End a key at once")
  static final class Revoke extends ApiCommand {

    @Parameters(paramLabel = "ID")
    private String id = "";

    Revoke(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.delete(path(KEYS + "/", id, ""));
    }
  }
}
