package carillon.cli.schedules;

import static carillon.cli.Field.argument;
import static carillon.cli.Field.flag;
import static carillon.cli.Field.idempotencyKey;
import static carillon.cli.Field.inPath;
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

  private static final String SCHEDULE = "/v1/schedules/{NAME}";
  private static final String BACKFILLS = SCHEDULE + "/backfills";
  private static final Field NAME = inPath("NAME");

  /** In whose time a schedule fires, and from when to when. */
  private static final List<Field> RECURRENCE =
      List.of(
          text("--timezone", "ZONE", "timezone", "such as Europe/Berlin. Default UTC"),
          text(
              "--dst-gap",
              "shift|skip",
              "dst.gap",
              "a local time that does not exist fires when the gap ends, or not. Default shift"),
          text(
              "--dst-overlap",
              "first|last|both",
              "dst.overlap",
              "which of a local time that happens twice. Default first"),
          text("--start-at", "TIME", "startAt", "nothing fires before"),
          text("--end-at", "TIME", "endAt", "nothing fires after"));

  private static final WatchOption.Subject BACKFILL =
      new WatchOption.Subject(
          BACKFILLS + "/{id}",
          ScheduleCommands::progress,
          "the backfill goes on; carillon schedule backfill-stop {NAME} {id} ends it");

  private ScheduleCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "schedule",
        "What creates tasks again and again",
        put(console),
        new Operation(console, "show", "GET", SCHEDULE, "Show a schedule and when it fires next")
            .aliases("get")
            .with(NAME)
            .showing(ScheduleView::show),
        new Operation(console, "list", "GET", SCHEDULES, "List the schedules")
            .list()
            .showing(ScheduleCommands::showList),
        new Operation(
                console,
                "delete",
                "DELETE",
                SCHEDULE,
                "Delete a schedule; what it has planned is withdrawn, what runs goes on")
            .with(NAME)
            .showing(ScheduleView::show),
        new Operation(
                console,
                "pause",
                "POST",
                SCHEDULE + "/pause",
                "Let it make no tasks; its times are recorded as skipped")
            .with(NAME, text("--reason", "TEXT", "reason", "why, for who looks at it later"))
            .showing(ScheduleView::show),
        new Operation(console, "resume", "POST", SCHEDULE + "/resume", "Let it make tasks again")
            .with(NAME)
            .showing(ScheduleView::show),
        new Operation(
                console,
                "trigger",
                "POST",
                SCHEDULE + "/trigger",
                "Make a task of it now, whatever its times and a pause say")
            .with(
                NAME,
                json(
                    "--payload",
                    "payload",
                    "instead of the schedule's: any JSON, a file of it, or standard input"),
                idempotencyKey()),
        new Operation(
                console,
                "fires",
                "GET",
                SCHEDULE + "/fires",
                "List what became of each of its times, newest first: a task, or why not")
            .with(
                NAME,
                text("--outcome", "task|skipped", "outcome", ""),
                text("--from", "TIME", "from", "not before this time"),
                text("--to", "TIME", "to", "not after this time"))
            .list("at", "kind", "outcome", "reason", "taskId", "status", "note"),
        preview(console),
        backfill(console),
        new Operation(
                console,
                "backfills",
                "GET",
                BACKFILLS,
                "List the backfills of a schedule, newest first")
            .with(NAME)
            .list("id", "status", "from", "to", "times", "made", "existing", "skipped"),
        new Operation(
                console,
                "backfill-stop",
                "POST",
                BACKFILLS + "/{ID}/stop",
                "Make no further task; what was made stays")
            .with(NAME, inPath("ID")),
        new ApplyCommand(console));
  }

  private static Operation put(Console console) {
    Operation put =
        new Operation(
                console,
                "put",
                "PUT",
                SCHEDULE,
                "Make a schedule, or replace all of it.",
                "",
                "What is left out has its default; only a pause stays as it is.")
            .with(NAME)
            .oneOf(
                true,
                text("--cron", "CRON", "cron", "such as \"0 9 * * MON-FRI\" or @hourly"),
                text("--every", "DURATION", "every", "such as 90s"))
            .with(RECURRENCE)
            .with(
                text("--type", "TYPE", "type", "the type of its tasks").required(),
                json("--payload", "payload", "of each task: any JSON, a file of it, or standard input"),
                text("--key", "KEY", "key", "business key of each task"),
                number(
                    "--priority", "0..9", "priority", "higher is more urgent. Default the type's"));
    return TargetFields.addTo(put)
        .with(
            json("--retry", "retry", "retry policy. Default the type's"),
            text(
                "--overlap",
                "RULE",
                "overlap",
                "while an earlier task has not ended: skip, allow, queue or cancelPrevious."
                    + " Default skip"),
            text(
                "--catch-up",
                "RULE",
                "catchUp",
                "what was missed: none, last or all. Default last"),
            number(
                "--catch-up-limit", "N", "catchUpLimit", "most that are made up for. Default 100"),
            text(
                "--catch-up-window",
                "DURATION",
                "catchUpWindow",
                "what is older is not made up for. Default 7d"),
            text(
                "--jitter", "DURATION", "jitter", "each fire is late by up to this. Default 0s"),
            number("--max-runs", "N", "maxRuns", "it is finished after so many tasks"),
            number(
                "--pause-after-failures",
                "N",
                "pauseAfterFailures",
                "it is paused when so many tasks in a row have failed"),
            flag("--paused", "paused", "it fires only after it was resumed"))
        .showing(ScheduleView::show);
  }

  private static Operation preview(Console console) {
    return new Operation(
            console,
            "preview",
            "POST",
            SCHEDULES + "/preview",
            "Say in words what an expression means, and when it fires")
        .with(
            argument(
                    "CRON",
                    "cron",
                    "such as \"0 9 * * MON-FRI\"; in quotes, or the shell replaces the stars")
                .optional(),
            text("--every", "DURATION", "every", "instead of CRON, such as 90s"))
        .with(RECURRENCE)
        .with(
            number("--count", "N", "count", "so many times. Default 5"),
            text("--from", "TIME", "from", "those after it. Default now"),
            text(
                "--name",
                "NAME",
                "name",
                "the schedule's name, which an H in the expression is made from"))
        .prepare(
            preview -> {
              if (preview.has("cron") == preview.has("every")) {
                throw new CommandFailed("give either an expression in quotes, or --every");
              }
            })
        .showing(ScheduleView::show);
  }

  private static Operation backfill(Console console) {
    return new Operation(
            console,
            "backfill",
            "POST",
            SCHEDULE + "/backfill",
            "Make the tasks of a time in the past that has none, such as before it was made")
        .with(
            NAME,
            text("--from", "TIME", "from", "from this time").required(),
            text("--to", "TIME", "to", "up to this time, which must be past").required(),
            text(
                "--overlap",
                "queue|allow",
                "overlap",
                "one after another, or all at once. Default queue"),
            flag(
                "--again",
                "again",
                "also times so long ago that nobody knows whether they had a task; they may run a"
                    + " second time"),
            flag("--dry-run", "dryRun", "only say how many it would be"))
        .watching(BACKFILL);
  }

  private static WatchOption.Progress progress(JsonNode now) {
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

  private static void showList(Console console, JsonNode answer) {
    ObjectNode list = ApiCommand.JSON.createObjectNode();
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
