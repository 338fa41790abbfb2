package carillon.cli.deadletters;

import static carillon.cli.Field.inPath;

import carillon.cli.Console;
import carillon.cli.Field;
import carillon.cli.Operation;
import carillon.cli.WatchOption;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;

/** {@code carillon redrive ...} */
public final class RedriveCommands {

  private static final String REDRIVES = "/v1/redrives";
  private static final String REDRIVE = "/v1/redrives/{ID}";
  private static final Field ID = inPath("ID");

  static final WatchOption.Subject SUBJECT =
      new WatchOption.Subject(
          REDRIVES + "/{id}",
          RedriveCommands::progress,
          "the redrive continues; stop it with carillon redrive stop {id}");

  private RedriveCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "redrive",
        "Follow, stop and undo redrives",
        new Operation(console, "list", "GET", REDRIVES, "List redrives, newest first")
            .list("id", "status", "matched", "redriven", "undone", "rate", "createdAt", "by"),
        new Operation(console, "get", "GET", REDRIVE, "Show a redrive").with(ID).watching(SUBJECT),
        new Operation(
                console,
                "stop",
                "POST",
                REDRIVE + "/stop",
                "Stop a redrive; remaining dead letters stay")
            .with(ID),
        new Operation(
                console,
                "undo",
                "POST",
                REDRIVE + "/undo",
                "Stop a redrive and return tasks that have not started to the dead letters")
            .with(ID)
            .watching(SUBJECT));
  }

  private static WatchOption.Progress progress(JsonNode now) {
    long matched = now.path("matched").asLong(0);
    long redriven = now.path("redriven").asLong(0);
    return new WatchOption.Progress(
        now.path("status").asString(""),
        redriven,
        matched,
        "%d of %d redriven, %d waiting, %d undone"
            .formatted(
                redriven, matched, now.path("waiting").asLong(0), now.path("undone").asLong(0)));
  }
}
