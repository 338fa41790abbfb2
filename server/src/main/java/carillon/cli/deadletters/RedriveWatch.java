package carillon.cli.deadletters;

import carillon.cli.ApiCommand;
import carillon.cli.Console;
import carillon.cli.WatchOption;
import carillon.client.Carillon;
import java.util.function.Supplier;
import picocli.CommandLine.Mixin;
import tools.jackson.databind.JsonNode;

/** The option to look on until a redrive has ended. */
final class RedriveWatch {

  @Mixin private final WatchOption watch = new WatchOption();

  /**
   * The redrive once it has ended, or as it is if nobody wants to watch.
   *
   * @param ask starts or asks for it; not called if the options are wrong
   */
  JsonNode until(Carillon carillon, Console console, Supplier<JsonNode> ask) {
    return watch.until(console, ask, new Redrive(carillon));
  }

  /** How a redrive is asked for, and what it says. */
  private record Redrive(Carillon carillon) implements WatchOption.Subject {

    @Override
    public JsonNode again(JsonNode last) {
      return carillon.get(ApiCommand.path(RedriveCommands.REDRIVES + "/", id(last), ""));
    }

    @Override
    public WatchOption.Progress progress(JsonNode now) {
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

    @Override
    public String farewell(JsonNode last) {
      return "the redrive goes on; carillon redrive stop " + id(last) + " ends it";
    }

    private static String id(JsonNode redrive) {
      return redrive.path("id").asString();
    }
  }
}
