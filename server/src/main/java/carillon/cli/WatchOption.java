package carillon.cli;

import carillon.model.Durations;
import java.time.Duration;
import java.util.Set;
import java.util.function.Supplier;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;

/** The option to look on until something that the server does has ended. */
public final class WatchOption {

  private static final int WIDTH = 30;
  private static final int ALL = 100;
  private static final Set<String> UNDER_WAY = Set.of("RUNNING", "UNDOING");

  @Option(names = "--watch", description = "show how far it has come until it has ended")
  private boolean watch;

  @Option(
      names = "--interval",
      paramLabel = "DURATION",
      description = "with --watch: time between readings. Default 1s")
  private String interval = "1s";

  /** What is watched. */
  public interface Subject {

    /** Asks for it once more. */
    JsonNode again(JsonNode last);

    Progress progress(JsonNode now);

    /** What to tell who stops to watch it. */
    String farewell(JsonNode last);
  }

  /**
   * How far it has come.
   *
   * @param line the same in words
   */
  public record Progress(String state, long done, long all, String line) {

    boolean isUnderWay() {
      return UNDER_WAY.contains(state);
    }

    long percent() {
      return all == 0 ? ALL : Math.min(ALL, done * ALL / all);
    }
  }

  /**
   * The thing once it has ended, or as it is if nobody wants to watch.
   *
   * @param ask starts or asks for it; not called if the options are wrong
   */
  public JsonNode until(Console console, Supplier<JsonNode> ask, Subject subject) {
    Duration pause =
        Durations.parse(interval)
            .filter(Duration::isPositive)
            .orElseThrow(
                () ->
                    new CommandFailed("--interval: \"" + interval + "\" is not " + Durations.RULE));
    JsonNode first = ask.get();
    if (!watch || !first.has("id")) {
      return first;
    }
    String farewell = "\ncarillon: " + Text.visible(subject.farewell(first));
    Thread leaving = new Thread(() -> console.err().println(farewell));
    JsonNode now = first;
    Runtime.getRuntime().addShutdownHook(leaving);
    try {
      while (subject.progress(now).isUnderWay() && !console.err().checkError()) {
        show(console, subject.progress(now));
        Thread.sleep(pause);
        now = subject.again(now);
      }
      if (subject.progress(first).isUnderWay()) {
        show(console, subject.progress(now));
        console.err().print(console.isTerminal() ? "\n" : "");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().removeShutdownHook(leaving);
    return now;
  }

  private static void show(Console console, Progress progress) {
    String state = Text.visible(progress.state());
    long percent = progress.percent();
    if (!console.isTerminal()) {
      console.err().println(state + " " + percent + "%: " + progress.line());
      return;
    }
    int done = (int) (percent * WIDTH / ALL);
    String bar = "#".repeat(done) + ".".repeat(WIDTH - done);
    console.err().print("\r\033[K" + state + " [" + bar + "] " + percent + "%  " + progress.line());
    console.err().flush();
  }
}
