package carillon.cli.deadletters;

import carillon.cli.Console;
import carillon.cli.Operation;
import carillon.cli.WatchOption;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;

/** {@code carillon redrive ...} */
public final class RedriveCommands {

  static final WatchOption.Subject SUBJECT =
      new WatchOption.Subject(
          "/v1/redrives/{id}",
          RedriveCommands::progress,
          "the redrive continues; stop it with carillon redrive stop {id}");

  private RedriveCommands() {}

  public static CommandLine of(Console console) {
    return Operation.group(
        "redrive",
        "Follow, stop and undo redrives",
        new Operation(console, "list", "GET /v1/redrives", "List redrives, newest first")
            .list("id", "status", "matched", "redriven", "undone", "rate", "createdAt", "by"),
        new Operation(console, "get", "GET /v1/redrives/{ID}", "Show a redrive").watching(SUBJECT),
        new Operation(
            console,
            "stop",
            "POST /v1/redrives/{ID}/stop",
            "Stop a redrive; remaining dead letters stay"),
        new Operation(
                console,
                "undo",
                "POST /v1/redrives/{ID}/undo",
                "Stop a redrive and return tasks that have not started to the dead letters")
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
