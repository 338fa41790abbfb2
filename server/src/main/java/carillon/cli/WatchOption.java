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

/** The option to follow an operation of the server until it finishes. */
public final class WatchOption {

  private static final int WIDTH = 30;
  private static final int PERCENT = 100;
  private static final Set<String> RUNNING_STATES = Set.of("RUNNING", "UNDOING");

  @Option(names = "--watch", description = "follow the progress until it finishes")
  private boolean watch;

  @Option(
      names = "--interval",
      paramLabel = "DURATION",
      description = "refresh interval (with --watch). Default: 1s")
  private String interval = "1s";

  /**
   * An operation to follow.
   *
   * @param path its path, with {@code {id}} for its id
   * @param exitHint printed if the command ends first, with {@code {id}} as well
   */
  public record Subject(String path, Function<JsonNode, Progress> progress, String exitHint) {

    private static String withId(String template, JsonNode subject) {
      return template.replace("{id}", ApiCommand.encoded(subject.path("id").asString()));
    }
  }

  /**
   * The progress of an operation.
   *
   * @param line the progress in words
   */
  public record Progress(String state, long done, long all, String line) {

    boolean isRunning() {
      return RUNNING_STATES.contains(state);
    }

    long percent() {
      return all == 0 ? PERCENT : Math.min(PERCENT, done * PERCENT / all);
    }
  }

  /** Parses the value of {@code --interval}. */
  public static Duration interval(String text) {
    return Durations.parse(text)
        .filter(Duration::isPositive)
        .orElseThrow(
            () -> new CommandFailed("--interval: \"" + text + "\" is not " + Durations.RULE));
  }

  /**
   * Returns the operation after it has finished, or as it is without {@code --watch}.
   *
   * @param request starts or reads it; not called if the options are invalid
   * @param arguments puts the arguments of the command into a template
   */
  JsonNode until(
      Carillon carillon,
      Console console,
      Supplier<JsonNode> request,
      Subject subject,
      UnaryOperator<String> arguments) {
    Duration pause = interval(interval);
    JsonNode first = request.get();
    if (!watch || !first.has("id")) {
      return first;
    }
    String path = Subject.withId(arguments.apply(subject.path()), first);
    String hint = Subject.withId(arguments.apply(subject.exitHint()), first);
    Thread printHint = new Thread(() -> console.err().println("\ncarillon: " + hint));
    JsonNode now = first;
    Runtime.getRuntime().addShutdownHook(printHint);
    try {
      while (progress(subject, now).isRunning() && !console.err().checkError()) {
        show(console, progress(subject, now));
        Thread.sleep(pause);
        now = carillon.get(path);
      }
      if (progress(subject, first).isRunning()) {
        show(console, progress(subject, now));
        console.err().print(console.isTerminal() ? "\n" : "");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().removeShutdownHook(printHint);
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
    int done = (int) (percent * WIDTH / PERCENT);
    String bar = "#".repeat(done) + ".".repeat(WIDTH - done);
    console.err().print("\r\033[K" + state + " [" + bar + "] " + percent + "%  " + progress.line());
    console.err().flush();
  }
}
