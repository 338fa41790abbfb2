package carillon.cli.schedules;

import static carillon.cli.Field.argument;
import static carillon.cli.Field.flag;
import static carillon.cli.Field.idempotencyKey;
import static carillon.cli.Field.json;
import static carillon.cli.Field.number;
import static carillon.cli.Field.text;

import carillon.cli.ApiCommand;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.cli.Field;
import carillon.cli.Operation;
import carillon.cli.Table;
import carillon.cli.TargetFields;
import carillon.cli.WatchOption;
import java.util.List;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code carillon schedule ...} */
public final class ScheduleCommands {

  static final String SCHEDULES = "/v1/schedules";

  /** The time zone and the range of run times. */
  private static final List<Field> RECURRENCE =
      List.of(
          text("--timezone ZONE", "timezone", "time zone, e.g. Europe/Berlin. Default: UTC"),
          text(
              "--dst-gap shift|skip",
              "dst.gap",
              "DST gap: run when the gap ends (shift), or skip. Default: shift"),
          text(
              "--dst-overlap first|last|both",
              "dst.overlap",
              "DST overlap: run the first, last or both. Default: first"),
          text("--start-at TIME", "startAt", "no runs before this time"),
          text("--end-at TIME", "endAt", "no runs after this time"));

  private static final WatchOption.Subject BACKFILL =
      new WatchOption.Subject(
          "/v1/schedules/{NAME}/backfills/{id}",
          ScheduleCommands::progress,
          "the backfill continues; stop it with carillon schedule backfill-stop {NAME} {id}");

  private ScheduleCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "schedule",
        "Manage recurring schedules",
        put(console),
        new Operation(
                console, "get", "GET /v1/schedules/{NAME}", "Show a schedule and its next runs")
            .aliases("show")
            .showing(ScheduleView::show),
        new Operation(console, "list", "GET /v1/schedules", "List schedules")
            .list()
            .showing(ScheduleCommands::showList),
        new Operation(
                console,
                "delete",
                "DELETE /v1/schedules/{NAME}",
                "Delete a schedule. Planned tasks are cancelled; running tasks continue")
            .confirming("Delete schedule {NAME} and cancel its planned tasks?")
            .showing(ScheduleView::show),
        new Operation(
                console,
                "pause",
                "POST /v1/schedules/{NAME}/pause",
                "Pause a schedule. Runs are recorded as skipped")
            .with(text("--reason TEXT", "reason", "reason, shown in the dashboard"))
            .showing(ScheduleView::show),
        new Operation(console, "resume", "POST /v1/schedules/{NAME}/resume", "Resume a schedule")
            .showing(ScheduleView::show),
        new Operation(
                console,
                "trigger",
                "POST /v1/schedules/{NAME}/trigger",
                "Create a task now, ignoring the schedule and any pause")
            .with(
                json(
                    "--payload",
                    "payload",
                    "overrides the schedule's payload: JSON, @file, or - for standard input"),
                idempotencyKey()),
        new Operation(
                console,
                "runs",
                "GET /v1/schedules/{NAME}/fires",
                "List past runs, newest first, with the task or the reason it was skipped")
            .aliases("fires")
            .with(
                text("--outcome task|skipped", "outcome", "filter by outcome"),
                text("--from TIME", "from", "from this time"),
                text("--to TIME", "to", "until this time"))
            .list("at", "kind", "outcome", "reason", "taskId", "status", "note"),
        preview(console),
        backfill(console),
        new Operation(
                console,
                "backfills",
                "GET /v1/schedules/{NAME}/backfills",
                "List the backfills of a schedule, newest first")
            .list("id", "status", "from", "to", "times", "created", "existing", "skipped"),
        new Operation(
            console,
            "backfill-stop",
            "POST /v1/schedules/{NAME}/backfills/{ID}/stop",
            "Stop a backfill; created tasks are kept"),
        new ApplyCommand(console));
  }

  private static Operation put(Console console) {
    Operation put =
        new Operation(
                console,
                "put",
                "PUT /v1/schedules/{NAME}",
                "Create or replace a schedule.",
                "",
                "Omitted options get their defaults. A paused schedule stays paused.")
            .oneOf(
                true,
                text("--cron CRON", "cron", "cron expression, e.g. \"0 9 * * MON-FRI\" or @hourly"),
                text("--every DURATION", "every", "interval, e.g. 90s"))
            .with(RECURRENCE)
            .with(
                text("--type TYPE", "type", "task type").required(),
                json(
                    "--payload",
                    "payload",
                    "payload of each task: JSON, @file, or - for standard input"),
                text("--key KEY", "key", "business key of each task"),
                number(
                    "--priority 0..9",
                    "priority",
                    "higher is more urgent. Default: from the type"));
    return TargetFields.addTo(put)
        .with(
            json("--retry", "retry", "retry policy. Default: from the type"),
            text(
                "--overlap RULE",
                "overlap",
                "overlap policy: skip, allow, queue or cancelPrevious. Default: skip"),
            text(
                "--catch-up RULE",
                "catchUp",
                "catch-up policy for missed runs: none, last or all. Default: last"),
            number("--catch-up-limit N", "catchUpLimit", "maximum catch-up runs. Default: 100"),
            text("--catch-up-window DURATION", "catchUpWindow", "catch-up window. Default: 7d"),
            text("--jitter DURATION", "jitter", "random delay up to this. Default: 0s"),
            number("--max-runs N", "maxRuns", "stop after this many runs"),
            number(
                "--pause-after-failures N",
                "pauseAfterFailures",
                "pause after this many consecutive failures"),
            flag("--paused", "paused", "create it paused"))
        .showing(ScheduleView::show);
  }

  private static Operation preview(Console console) {
    return new Operation(
            console,
            "preview",
            "POST /v1/schedules/preview",
            "Explain a cron expression and show its next runs")
        .with(
            argument("CRON", "cron", "e.g. \"0 9 * * MON-FRI\" (quote it)").optional(),
            text("--every DURATION", "every", "interval instead of CRON, e.g. 90s"))
        .with(RECURRENCE)
        .with(
            number("--count N", "count", "number of runs to show. Default: 5"),
            text("--from TIME", "from", "show runs after this time. Default: now"),
            text("--name NAME", "name", "schedule name, used to resolve H"))
        .prepare(
            preview -> {
              if (preview.has("cron") == preview.has("every")) {
                throw new CommandFailed("specify a cron expression in quotes, or --every");
              }
            })
        .showing(ScheduleView::show);
  }

  private static Operation backfill(Console console) {
    return new Operation(
            console,
            "backfill",
            "POST /v1/schedules/{NAME}/backfill",
            "Create tasks for past run times that have none")
        .with(
            text("--from TIME", "from", "from this time").required(),
            text("--to TIME", "to", "until this time, which must be in the past").required(),
            text(
                "--overlap queue|allow",
                "overlap",
                "sequential (queue) or concurrent (allow). Default: queue"),
            flag(
                "--again", "again", "include times older than the run history; they may run twice"),
            flag("--dry-run", "dryRun", "show how many tasks would be created"))
        .watching(BACKFILL);
  }

  private static WatchOption.Progress progress(JsonNode now) {
    long times = now.path("times").asLong(0);
    long created = now.path("created").asLong(0);
    long existing = now.path("existing").asLong(0);
    long skipped = now.path("skipped").asLong(0);
    long done = created + existing + skipped;
    return new WatchOption.Progress(
        now.path("status").asString(""),
        done,
        times,
        "%d of %d run times: %d created, %d already existed, %d skipped"
            .formatted(done, times, created, existing, skipped));
  }

  private static void showList(Console console, JsonNode response) {
    ObjectNode list = ApiCommand.JSON.createObjectNode();
    ArrayNode lines = list.putArray("items");
    for (JsonNode schedule : response.path("items")) {
      ObjectNode line = lines.addObject();
      for (String field : List.of("name", "type", "status", "timezone")) {
        line.set(field, schedule.path(field));
      }
      line.set("schedule", schedule.path(schedule.hasNonNull("cron") ? "cron" : "every"));
      line.set("nextRun", schedule.path("nextRun").path("at"));
    }
    list.set("nextCursor", response.path("nextCursor"));
    new Table(console).list(list, "name", "type", "status", "schedule", "timezone", "nextRun");
  }
}
