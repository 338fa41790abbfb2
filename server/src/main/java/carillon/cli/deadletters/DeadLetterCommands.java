package carillon.cli.deadletters;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
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
        .addSubcommand(new Groups(console))
        .addSubcommand(new Redrive(console))
        .addSubcommand(new Purge(console))
        .addSubcommand(new RestoreCommand(console));
  }

  @Command(name = "list", description = "List dead tasks, newest death first")
  static final class All extends ApiCommand {

    private static final int MOST_PAGES = 200;

    @Mixin private final LetterOptions letters = new LetterOptions();

    @Mixin private final ListOptions page = new ListOptions();

    All(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      // A page may be empty and have a next one: how far the server looks is bounded. A person
      // asked for dead letters.
      JsonNode answer = carillon.get(letters.query(DEAD_LETTERS, page, page.cursor));
      for (int pages = 1; pages < MOST_PAGES && isEmptyButNotLast(answer); pages++) {
        String cursor = answer.path("nextCursor").asString();
        answer = carillon.get(letters.query(DEAD_LETTERS, page, cursor));
      }
      return answer;
    }

    private static boolean isEmptyButNotLast(JsonNode answer) {
      return answer.path("items").isEmpty() && answer.path("nextCursor").isString();
    }

    @Override
    public void show(JsonNode answer) {
      new Table(console).list(answer, "id", "type", "key", "diedAt", "attempt", "group", "error");
    }
  }

  @Command(name = "groups", description = "List what dead tasks died of, and how many of each")
  static final class Groups extends ApiCommand {

    @Option(names = "--type", paramLabel = "TYPE")
    private @Nullable String type;

    @Option(
        names = "--failure",
        paramLabel = "KIND",
        description = "why they failed: status, timeout, dns, connection ...")
    private @Nullable String failure;

    @Option(names = "--status", paramLabel = "CODE", description = "what the target answered")
    private @Nullable Integer status;

    @Mixin private final ListOptions page = new ListOptions();

    Groups(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      LetterOptions.refuseEmpty("--type", type);
      LetterOptions.refuseEmpty("--failure", failure);
      return carillon.get(
          query(
              DEAD_LETTERS + "/groups",
              "type",
              type,
              "failure",
              failure,
              "status",
              status,
              "limit",
              page.limit,
              "cursor",
              page.cursor));
    }

    @Override
    public void show(JsonNode answer) {
      new Table(console)
          .list(answer, "group", "type", "failure", "status", "letters", "lastSeenAt", "error");
    }
  }

  /** Which dead tasks a bulk command means. Saying nothing is not saying all. */
  static final class Filter {

    @Mixin private final LetterOptions letters = new LetterOptions();

    @Option(names = "--id", split = ",", paramLabel = "ID", description = "can be repeated")
    private List<String> ids = new ArrayList<>();

    @Option(names = "--all", description = "every dead task of the tenant")
    private boolean all;

    @Option(names = "--dry-run", description = "only say how many it would be")
    private boolean dryRun;

    ObjectNode body() {
      ObjectNode body = letters.body();
      ids.forEach(id -> LetterOptions.refuseEmpty("--id", id));
      ApiCommand.set(body, "ids", ids.isEmpty() ? null : ids);
      if (body.isEmpty() != all) {
        throw new CommandFailed(
            "give either --all, or at least one of --type, --failure, --status, --error, --key,"
                + " --group, --died-after, --died-before, --metadata and --id");
      }
      ApiCommand.set(body, "all", all ? true : null);
      ApiCommand.set(body, "dryRun", dryRun ? true : null);
      return body;
    }
  }

  @Command(name = "redrive", description = "Give dead tasks a fresh budget of attempts")
  static final class Redrive extends ApiCommand {

    @Mixin private final Filter filter = new Filter();

    @Option(names = "--rate", paramLabel = "N", description = "at most this many a second")
    private @Nullable Integer rate;

    @Mixin private final RedriveWatch watch = new RedriveWatch();

    Redrive(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      ObjectNode body = filter.body();
      set(body, "rate", rate);
      return watch.until(carillon, console, () -> carillon.post(DEAD_LETTERS + "/redrive", body));
    }
  }

  @Command(name = "purge", description = "Remove dead tasks for good")
  static final class Purge extends ApiCommand {

    @Mixin private final Filter filter = new Filter();

    Purge(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      ObjectNode body = filter.body();
      JsonNode answer = carillon.post(DEAD_LETTERS + "/purge", body);
      long now = answer.path("purged").asLong(0);
      long matched = answer.path("matched").asLong(0);
      long purged = now;
      // A call has only so much time. One that found nothing in it would not do better again.
      while (answer.path("more").asBoolean(false) && now > 0) {
        console.err().println("purged " + purged + " of " + matched);
        answer = carillon.post(DEAD_LETTERS + "/purge", body);
        now = answer.path("purged").asLong(0);
        matched = Math.max(matched, purged + answer.path("matched").asLong(0));
        purged += now;
      }
      if (answer instanceof ObjectNode sum && sum.has("purged")) {
        sum.put("matched", matched).put("purged", purged);
      }
      return answer;
    }
  }
}
