package carillon.app.cli;

import carillon.client.Carillon;
import carillon.model.Durations;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code carillon top}: what a server is doing, second by second. */
@Command(name = "top", description = "Watch a server work")
public final class TopCommand implements Callable<Integer> {

  private static final String CLEAR = "\033[H\033[2J";

  @Mixin private final Connection connection = new Connection();

  @Option(names = "--once", description = "show one interval and end")
  private boolean once;

  @Option(
      names = "--interval",
      paramLabel = "DURATION",
      description = "time between readings. Default 1s")
  private String interval = "1s";

  private final Console console;

  public TopCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws InterruptedException {
    Duration pause =
        Durations.parse(interval)
            .filter(Duration::isPositive)
            .orElseThrow(
                () ->
                    new CommandFailed("--interval: \"" + interval + "\" is not " + Durations.RULE));
    try (Carillon carillon = connection.open(console)) {
      watch(carillon, pause);
    }
    return 0;
  }

  private void watch(Carillon carillon, Duration pause) throws InterruptedException {
    Metrics before = Metrics.parse(carillon.text("/metrics"));
    long readAt = System.nanoTime();
    boolean again = true;
    while (again) {
      Thread.sleep(pause);
      Metrics now = Metrics.parse(carillon.text("/metrics"));
      long nowAt = System.nanoTime();
      show(new TopView(before, now, Duration.ofNanos(nowAt - readAt)));
      before = now;
      readAt = nowAt;
      again = !once && !console.out().checkError(); // the reader of a pipe may have gone
    }
  }

  private void show(TopView view) {
    if (!console.isTerminal()) {
      console.out().println(view.line());
      return;
    }
    String heading = console.bold("carillon top") + "  " + Text.visible(connection.url(console));
    console
        .out()
        .print((once ? "" : CLEAR) + heading + "\n\n" + String.join("\n", view.lines()) + "\n");
    console.out().flush();
  }
}
