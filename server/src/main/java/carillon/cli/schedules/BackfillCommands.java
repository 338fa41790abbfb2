package carillon.cli.schedules;

import carillon.cli.ApiCommand;
import carillon.cli.Console;
import carillon.cli.ListOptions;
import carillon.cli.NamedCommand;
import carillon.cli.Table;
import carillon.cli.WatchOption;
import carillon.client.Carillon;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The commands of a schedule that make up for a time in the past. */
final class BackfillCommands {

  private BackfillCommands() {}

  @Command(
      name = "backfill",
      description =
          "Make the tasks of a time in the past that has none, such as before it was made")
  static final class Start extends NamedCommand {

    @Option(names = "--from", paramLabel = "TIME", required = true, description = "from this time")
    private String from = "";

    @Option(
        names = "--to",
        paramLabel = "TIME",
        required = true,
        description = "up to this time, which must be past")
    private String to = "";

    @Option(
        names = "--overlap",
        paramLabel = "queue|allow",
        description = "one after another, or all at once. Default queue")
    private @Nullable String overlap;

    @Option(
        names = "--again",
        description =
            "also times so long ago that nobody knows whether they had a task; they may run a"
                + " second time")
    private boolean again;

    @Option(names = "--dry-run", description = "only say how many it would be")
    private boolean dryRun;

    @Mixin private final WatchOption watch = new WatchOption();

    Start(Console console) {
      super(console, ScheduleCommands.SCHEDULES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      ObjectNode body = JSON.createObjectNode().put("from", from).put("to", to);
      set(body, "overlap", overlap);
      set(body, "again", again ? true : null);
      set(body, "dryRun", dryRun ? true : null);
      return watch.until(
          console,
          () -> carillon.post(path("/backfill"), body),
          new Backfill(carillon, name(), path("/backfills/")));
    }
  }

  /** How a backfill is asked for, and what it says. */
  private record Backfill(Carillon carillon, String schedule, String path)
      implements WatchOption.Subject {

    @Override
    public JsonNode again(JsonNode last) {
      return carillon.get(ApiCommand.path(path, id(last), ""));
    }

    @Override
    public WatchOption.Progress progress(JsonNode now) {
      long times = now.path("times").asLong(0);
      long made = now.path("made").asLong(0);
      long existing = now.path("existing").asLong(0);
      long skipped = now.path("skipped").asLong(0);
      long done = made + existing + skipped;
      return new WatchOption.Progress(
          now.path("status").asString(""),
          done,
          times,
          "%d of %d times, %d made, %d had a task, %d skipped"
              .formatted(done, times, made, existing, skipped));
    }

    @Override
    public String farewell(JsonNode last) {
      return "the backfill goes on; carillon schedule backfill-stop "
          + schedule
          + " "
          + id(last)
          + " ends it";
    }

    private static String id(JsonNode backfill) {
      return backfill.path("id").asString();
    }
  }

  @Command(name = "backfills", description = "List the backfills of a schedule, newest first")
  static final class All extends NamedCommand {

    @Mixin private final ListOptions page = new ListOptions();

    All(Console console) {
      super(console, ScheduleCommands.SCHEDULES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.get(query(path("/backfills"), "limit", page.limit, "cursor", page.cursor));
    }

    @Override
    public void show(JsonNode answer) {
      new Table(console)
          .list(answer, "id", "status", "from", "to", "times", "made", "existing", "skipped");
    }
  }

  @Command(name = "backfill-stop", description = "Make no further task; what was made stays")
  static final class Stop extends NamedCommand {

    @Parameters(paramLabel = "ID", index = "1")
    private String id = "";

    Stop(Console console) {
      super(console, ScheduleCommands.SCHEDULES);
    }

    @Override
    protected JsonNode ask(Carillon carillon) {
      return carillon.post(path(path("/backfills/"), id, "/stop"), null);
    }
  }
}
