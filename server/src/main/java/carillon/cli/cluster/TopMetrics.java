package carillon.cli.cluster;

import carillon.cli.Console;
import carillon.cli.Text;
import carillon.client.Carillon;
import java.time.Duration;

/** Shows the metrics of one node, computed from two scrapes. */
record TopMetrics(Console console, String url) {

  private static final String CLEAR = "\033[H\033[2J";

  void watch(Carillon carillon, Duration pause, boolean once) throws InterruptedException {
    Metrics before = Metrics.parse(carillon.text("/metrics"));
    long readAt = System.nanoTime();
    boolean again = true;
    while (again) {
      Thread.sleep(pause);
      Metrics now = Metrics.parse(carillon.text("/metrics"));
      long nowAt = System.nanoTime();
      show(new TopView(before, now, Duration.ofNanos(nowAt - readAt)), once);
      before = now;
      readAt = nowAt;
      again = !once && !console.out().checkError(); // stop if the reader of the pipe is gone
    }
  }

  private void show(TopView view, boolean once) {
    if (!console.isTerminal()) {
      console.out().println(view.line());
      return;
    }
    String heading = console.bold("carillon top") + "  " + Text.visible(url);
    console
        .out()
        .print((once ? "" : CLEAR) + heading + "\n\n" + String.join("\n", view.lines()) + "\n");
    console.out().flush();
  }
}
