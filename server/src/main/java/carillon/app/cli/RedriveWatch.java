package carillon.app.cli;

import carillon.client.Carillon;
import carillon.model.Durations;
import java.time.Duration;
import java.util.function.Supplier;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;

/** The option to look on until a redrive has ended. */
final class RedriveWatch {

  private static final int WIDTH = 30;
  private static final int ALL = 100;

  @Option(names = "--watch", description = "show how far it has come until it has ended")
  private boolean watch;

  @Option(
      names = "--interval",
      paramLabel = "DURATION",
      description = "with --watch: time between readings. Default 1s")
  private String interval = "1s";

  /**
   * The redrive once it has ended, or as it is if nobody wants to watch.
   *
   * @param ask starts or asks for it; not called if the options are wrong
   */
  JsonNode until(Carillon carillon, Console console, Supplier<JsonNode> ask) {
    Duration pause =
        Durations.parse(interval)
            .filter(Duration::isPositive)
            .orElseThrow(
                () ->
                    new CommandFailed("--interval: \"" + interval + "\" is not " + Durations.RULE));
    JsonNode redrive = ask.get();
    if (!watch || !redrive.has("id")) {
      return redrive;
    }
    String id = redrive.path("id").asString();
    Thread leaving =
        new Thread(
            () ->
                console
                    .err()
                    .println(
                        "\ncarillon: the redrive goes on; carillon redrive stop "
                            + id
                            + " ends it"));
    JsonNode now = redrive;
    Runtime.getRuntime().addShutdownHook(leaving);
    try {
      while (isUnderWay(now) && !console.err().checkError()) {
        show(console, now);
        Thread.sleep(pause);
        now = carillon.get(ApiCommand.path(RedriveCommands.REDRIVES + "/", id, ""));
      }
      if (isUnderWay(redrive)) {
        show(console, now);
        console.err().print(console.isTerminal() ? "\n" : "");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().removeShutdownHook(leaving);
    return now;
  }

  private static boolean isUnderWay(JsonNode redrive) {
    String status = redrive.path("status").asString("");
    return status.equals("RUNNING") || status.equals("UNDOING");
  }

  private static void show(Console console, JsonNode redrive) {
    long matched = redrive.path("matched").asLong(0);
    long redriven = redrive.path("redriven").asLong(0);
    long percent = matched == 0 ? ALL : Math.min(ALL, redriven * ALL / matched);
    String line =
        "%d of %d redriven, %d waiting, %d undone"
            .formatted(
                redriven,
                matched,
                redrive.path("waiting").asLong(0),
                redrive.path("undone").asLong(0));
    String status = Text.visible(redrive.path("status").asString(""));
    if (!console.isTerminal()) {
      console.err().println(status + " " + percent + "%: " + line);
      return;
    }
    int done = (int) (percent * WIDTH / ALL);
    String bar = "#".repeat(done) + ".".repeat(WIDTH - done);
    console.err().print("\r\033[K" + status + " [" + bar + "] " + percent + "%  " + line);
    console.err().flush();
  }
}
