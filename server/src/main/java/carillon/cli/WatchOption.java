package carillon.cli;

import carillon.client.Carillon;
import carillon.model.Durations;
import java.time.Duration;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;

/** The option to look on until something that the server does has ended. */
public final class WatchOption {

  private static final int WIDTH = 30;
  private static final int ALL = 100;
  private static final Set<String> UNDER_WAY = Set.of("RUNNING", "UNDOING");

  @Option(names = "--watch", description = "follow the progress until it finishes")
  private boolean watch;

  @Option(
      names = "--interval",
      paramLabel = "DURATION",
      description = "refresh interval (with --watch). Default: 1s")
  private String interval = "1s";

  /**
   * What is watched.
   *
   * @param path where it is read, with {@code {id}} for its id
   * @param exitHint what to print if the command ends before it, with {@code {id}} as well
   */
  public record Subject(String path, Function<JsonNode, Progress> progress, String exitHint) {

    private static String withId(String template, JsonNode subject) {
      return template.replace("{id}", ApiCommand.encoded(subject.path("id").asString()));
    }
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

  /** Reads an option whose value is a time between two readings. */
  public static Duration interval(String text) {
    return Durations.parse(text)
        .filter(Duration::isPositive)
        .orElseThrow(
            () -> new CommandFailed("--interval: \"" + text + "\" is not " + Durations.RULE));
  }

  /**
   * The thing once it has ended, or as it is if nobody wants to watch.
   *
   * @param ask starts or asks for it; not called if the options are wrong
   * @param arguments puts the arguments of the command into a text
   */
  JsonNode until(
      Carillon carillon,
      Console console,
      Supplier<JsonNode> ask,
      Subject subject,
      UnaryOperator<String> arguments) {
    Duration pause = interval(interval);
    JsonNode first = ask.get();
    if (!watch || !first.has("id")) {
      return first;
    }
    String path = Subject.withId(arguments.apply(subject.path()), first);
    String hint = Subject.withId(arguments.apply(subject.exitHint()), first);
    Thread leaving = new Thread(() -> console.err().println("\ncarillon: " + hint));
    JsonNode now = first;
    Runtime.getRuntime().addShutdownHook(leaving);
    try {
      while (progress(subject, now).isUnderWay() && !console.err().checkError()) {
        show(console, progress(subject, now));
        Thread.sleep(pause);
        now = carillon.get(path);
      }
      if (progress(subject, first).isUnderWay()) {
        show(console, progress(subject, now));
        console.err().print(console.isTerminal() ? "\n" : "");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().removeShutdownHook(leaving);
    return now;
  }

  private static Progress progress(Subject subject, JsonNode now) {
    return subject.progress().apply(now);
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
