package carillon.cli.cluster;

import carillon.cli.Connection;
import carillon.cli.Console;
import carillon.cli.Console.Colour;
import carillon.cli.Line;
import carillon.cli.Screen;
import carillon.cli.Text;
import carillon.cli.WatchOption;
import carillon.client.Carillon;
import carillon.client.CarillonException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;

/** {@code carillon top}: a live view of the cluster. */
@Command(
    name = "top",
    description = {
      "Live view of the cluster: nodes, leader (*), shards, rates, database.",
      "Refreshes until q or Ctrl-C; prints once when the output is not a terminal."
    })
public final class TopCommand implements Callable<Integer> {

  private static final String PATH = "/v1/cluster";
  private static final int UNBOUNDED = 10_000;
  private static final int SERVER_ERROR = 500;

  @Mixin private final Connection connection = new Connection();

  @ArgGroup(exclusive = true)
  private @Nullable Format format;

  private static final class Format {

    @Option(names = "--json", description = "output raw JSON and exit")
    private boolean json;

    @Option(names = "--metrics", description = "show the metrics of one node (from /metrics)")
    private boolean metrics;
  }

  @Option(names = "--once", description = "print once and exit")
  private boolean once;

  @Option(
      names = "--interval",
      paramLabel = "DURATION",
      description = "refresh interval. Default: 1s")
  private String interval = "1s";

  private final Console console;

  public TopCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws InterruptedException {
    Duration pause = WatchOption.interval(interval);
    try (Carillon carillon = connection.open(console)) {
      if (format != null && format.metrics) {
        new TopMetrics(console, connection.url(console)).watch(carillon, pause, once);
      } else if (format != null && format.json) {
        console.out().println(carillon.get(PATH));
      } else {
        watch(carillon, pause);
      }
    }
    return 0;
  }

  private void watch(Carillon carillon, Duration pause) throws InterruptedException {
    ClusterRates rates = new ClusterRates();
    JsonNode cluster = carillon.get(PATH);
    rates.add(cluster);
    if (once || !console.isAnsiTerminal()) {
      Thread.sleep(pause);
      cluster = carillon.get(PATH);
      rates.add(cluster);
      int width = console.isTerminal() ? Screen.size(console).columns() : UNBOUNDED;
      lines(new ClusterPage(cluster, rates), null, new Screen.Size(UNBOUNDED, width))
          .forEach(console.out()::println);
      return;
    }
    try (Screen screen = Screen.open(console)) {
      String error = null;
      do {
        screen.show(lines(new ClusterPage(cluster, rates), error, Screen.size(console)));
        if (screen.isQuitWithin(pause)) {
          return;
        }
        try {
          cluster = carillon.get(PATH);
          rates.add(cluster);
          error = null;
        } catch (CarillonException e) {
          error = transientError(e);
        }
      } while (!console.out().checkError()); // stop if the terminal is gone
    }
  }

  /** Errors of an unavailable server are shown and retried; others are thrown. */
  private static String transientError(CarillonException e) {
    if (e.status() == CarillonException.NO_ANSWER || e.status() >= SERVER_ERROR) {
      return Text.visible(String.valueOf(e.getMessage()));
    }
    throw e;
  }

  private List<String> lines(ClusterPage page, @Nullable String error, Screen.Size size) {
    List<Line> lines = new ArrayList<>();
    lines.add(
        Line.of(
            new Line.Piece("carillon top", Colour.BOLD),
            new Line.Piece("  " + Text.visible(connection.url(console)), null)));
    lines.add(
        error == null ? Line.EMPTY : Line.of(new Line.Piece("stale: " + error, Colour.YELLOW)));
    lines.addAll(page.summary());
    lines.add(Line.EMPTY);
    // Leave one line for the cursor.
    lines.addAll(page.table().lines(size.columns(), size.lines() - lines.size() - 1));
    return lines.stream().map(line -> line.print(console, size.columns())).toList();
  }
}
