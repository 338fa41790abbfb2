package carillon.cli.schedules;

import carillon.cli.Console;
import carillon.cli.NamedCommand;
import carillon.cli.TargetOptions;
import carillon.client.Carillon;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon schedule put} */
@Command(
    name = "put",
    description = {
      "Make a schedule, or replace all of it.",
      "",
      "What is left out has its default; only a pause stays as it is."
    })
final class SchedulePut extends NamedCommand {

  @ArgGroup(exclusive = true, multiplicity = "1")
  private final When when = new When();

  @Mixin private final RecurrenceOptions recurrence = new RecurrenceOptions();

  @Option(
      names = "--type",
      paramLabel = "TYPE",
      required = true,
      description = "the type of its tasks")
  private String type = "";

  @Option(
      names = "--payload",
      paramLabel = "JSON|@FILE|-",
      description = "of each task: any JSON, a file of it, or standard input")
  private @Nullable String payload;

  @Option(names = "--key", paramLabel = "KEY", description = "business key of each task")
  private @Nullable String key;

  @Option(
      names = "--priority",
      paramLabel = "0..9",
      description = "higher is more urgent. Default the type's")
  private @Nullable Integer priority;

  @Mixin private final TargetOptions target = new TargetOptions();

  @Option(
      names = "--retry",
      paramLabel = "JSON|@FILE|-",
      description = "retry policy. Default the type's")
  private @Nullable String retry;

  @Mixin private final Rules rules = new Rules();

  /** When it fires. */
  static final class When {
    @Option(
        names = "--cron",
        paramLabel = "CRON",
        description = "such as \"0 9 * * MON-FRI\" or @hourly")
    private @Nullable String cron;

    @Option(names = "--every", paramLabel = "DURATION", description = "such as 90s")
    private @Nullable String every;
  }

  /** What it does when something is in its way. */
  static final class Rules {
    @Option(
        names = "--overlap",
        paramLabel = "RULE",
        description =
            "while an earlier task has not ended: skip, allow, queue or cancelPrevious. Default"
                + " skip")
    private @Nullable String overlap;

    @Option(
        names = "--catch-up",
        paramLabel = "RULE",
        description = "what was missed: none, last or all. Default last")
    private @Nullable String catchUp;

    @Option(
        names = "--catch-up-limit",
        paramLabel = "N",
        description = "most that are made up for. Default 100")
    private @Nullable Integer catchUpLimit;

    @Option(
        names = "--catch-up-window",
        paramLabel = "DURATION",
        description = "what is older is not made up for. Default 7d")
    private @Nullable String catchUpWindow;

    @Option(
        names = "--jitter",
        paramLabel = "DURATION",
        description = "each fire is late by up to this. Default 0s")
    private @Nullable String jitter;

    @Option(
        names = "--max-runs",
        paramLabel = "N",
        description = "it is finished after so many tasks")
    private @Nullable Integer maxRuns;

    @Option(
        names = "--pause-after-failures",
        paramLabel = "N",
        description = "it is paused when so many tasks in a row have failed")
    private @Nullable Integer pauseAfterFailures;

    @Option(names = "--paused", description = "it fires only after it was resumed")
    private boolean paused;

    void addTo(ObjectNode body) {
      set(body, "overlap", overlap);
      set(body, "catchUp", catchUp);
      set(body, "catchUpLimit", catchUpLimit);
      set(body, "catchUpWindow", catchUpWindow);
      set(body, "jitter", jitter);
      set(body, "maxRuns", maxRuns);
      set(body, "pauseAfterFailures", pauseAfterFailures);
      set(body, "paused", paused ? true : null);
    }
  }

  SchedulePut(Console console) {
    super(console, ScheduleCommands.SCHEDULES);
  }

  @Override
  protected JsonNode ask(Carillon carillon) {
    ObjectNode schedule = JSON.createObjectNode();
    set(schedule, "cron", when.cron);
    set(schedule, "every", when.every);
    recurrence.addTo(schedule);
    schedule.put("type", type);
    set(schedule, "payload", payload == null ? null : readJson("--payload", payload));
    set(schedule, "key", key);
    set(schedule, "priority", priority);
    set(schedule, "target", target.json());
    set(schedule, "retry", retry == null ? null : readJson("--retry", retry));
    rules.addTo(schedule);
    return carillon.put(path(""), schedule);
  }

  @Override
  public void show(JsonNode answer) {
    new ScheduleView(console).show(answer);
  }
}
