package carillon.cli.schedules;

import carillon.cli.ApiCommand;
import carillon.cli.Console;
import carillon.cli.ListOptions;
import carillon.cli.NamedCommand;
import carillon.cli.Table;
import carillon.client.Carillon;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon schedule ...} */
@Command(name = "schedule", description = "What creates tasks again and again")
public final class ScheduleCommands {

  static final String SCHEDULES = "/v1/schedules";

  private ScheduleCommands() {}

  /** The command with its subcommands. */
  public static CommandLine of(Console console) {
    return new CommandLine(new ScheduleCommands())
        .addSubcommand(new SchedulePut(console))
        .addSubcommand(new Show(console))
        .addSubcommand(new All(console))
        .addSubcommand(new Delete(console))
        .addSubcommand(new Pause(console))
        .addSubcommand(new Resume(console))
        .addSubcommand(new Trigger(console))
        .addSubcommand(new Fires(console))
        .addSubcommand(new PreviewCommand(console))
        .addSubcommand(new BackfillCommands.Start(console))
        .addSubcommand(new BackfillCommands.All(console))
        .addSubcommand(new BackfillCommands.Stop(console))
        .addSubcommand(new ApplyCommand(console));
  }

  /** A command about one schedule, which shows it. */
  abstract static class OfOne extends NamedCommand {

    OfOne(Console console) {
      super(console, SCHEDULES);
    }

    @Override
    public void show(JsonNode answer) {
      new ScheduleView(console).show(answer);
    }
  }

  @Command(name = "show", aliases = "get", description = "Show a schedule and when it fires next")
  static final class Show extends OfOne {

    Show(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(path(""));
    }
  }

  @Command(name = "list", description = "List the schedules")
  static final class All extends ApiCommand {

    @Mixin private final ListOptions page = new ListOptions();

    All(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(query(SCHEDULES, "limit", page.limit, "cursor", page.cursor));
    }

    @Override
    public void show(JsonNode answer) {
      ObjectNode list = JSON.createObjectNode();
      ArrayNode lines = list.putArray("items");
      for (JsonNode schedule : answer.path("items")) {
        ObjectNode line = lines.addObject();
        for (String field : List.of("name", "type", "status", "timezone")) {
          line.set(field, schedule.path(field));
        }
        line.set("fires", schedule.path(schedule.hasNonNull("cron") ? "cron" : "every"));
        line.set("nextRun", schedule.path("nextRun").path("at"));
      }
      list.set("nextCursor", answer.path("nextCursor"));
      new Table(console).list(list, "name", "type", "status", "fires", "timezone", "nextRun");
    }
  }

  @Command(
      name = "delete",
      description = "Delete a schedule; what it has planned is withdrawn, what runs goes on")
  static final class Delete extends OfOne {

    Delete(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.delete(path(""));
    }
  }

  @Command(name = "pause", description = "Let it make no tasks; its times are recorded as skipped")
  static final class Pause extends OfOne {

    @Option(names = "--reason", paramLabel = "TEXT", description = "why, for who looks at it later")
    private @Nullable String reason;

    Pause(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      ObjectNode body = JSON.createObjectNode();
      set(body, "reason", reason);
      return carillon.post(path("/pause"), body.isEmpty() ? null : body);
    }
  }

  @Command(name = "resume", description = "Let it make tasks again")
  static final class Resume extends OfOne {

    Resume(Console console) {
      super(console);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.post(path("/resume"), null);
    }
  }

  @Command(
      name = "trigger",
      description = "Make a task of it now, whatever its times and a pause say")
  static final class Trigger extends NamedCommand {

    @Option(
        names = "--payload",
        paramLabel = "JSON|@FILE|-",
        description = "instead of the schedule's: any JSON, a file of it, or standard input")
    private @Nullable String payload;

    @Option(
        names = "--idempotency-key",
        paramLabel = "KEY",
        description = "repeating the call creates nothing new")
    private @Nullable String idempotencyKey;

    Trigger(Console console) {
      super(console, SCHEDULES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      ObjectNode body = JSON.createObjectNode();
      set(body, "payload", payload == null ? null : readJson("--payload", payload));
      ObjectNode given = body.isEmpty() ? null : body;
      return idempotencyKey == null
          ? carillon.post(path("/trigger"), given)
          : carillon.post(path("/trigger"), given, idempotencyKey);
    }
  }

  @Command(
      name = "fires",
      description = "List what became of each of its times, newest first: a task, or why not")
  static final class Fires extends NamedCommand {

    @Option(names = "--outcome", paramLabel = "task|skipped")
    private @Nullable String outcome;

    @Option(names = "--from", paramLabel = "TIME", description = "not before this time")
    private @Nullable String from;

    @Option(names = "--to", paramLabel = "TIME", description = "not after this time")
    private @Nullable String to;

    @Mixin private final ListOptions page = new ListOptions();

    Fires(Console console) {
      super(console, SCHEDULES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(
          query(
              path("/fires"),
              "outcome",
              outcome,
              "from",
              from,
              "to",
              to,
              "limit",
              page.limit,
              "cursor",
              page.cursor));
    }

    @Override
    public void show(JsonNode answer) {
      new Table(console)
          .list(answer, "at", "kind", "outcome", "reason", "taskId", "status", "note");
    }
  }
}
