package carillon.chaos.load;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.Progress;
import carillon.chaos.cluster.Watched;
import carillon.chaos.history.Fields;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Looks at nodes from time to time: what they count, and what they use. Says meanwhile how far the
 * run is.
 */
public final class Vitals implements AutoCloseable {

  private static final long INTERVAL_MILLIS = 1_500;
  private static final Duration PATIENCE = Duration.ofMillis(700);

  /** What nodes count themselves; a node that dies takes what it counted last with it. */
  private static final List<String> COUNTED =
      List.of(
          "carillon_completer_fenced_total",
          "carillon_stale_terms_total",
          "carillon_reaper_reaped_total",
          "carillon_loop_failures_total");

  private final Cluster cluster;
  private final Load load;
  private final Receiver receiver;
  private final Progress progress;
  private final Map<Life, Double> counted = new LinkedHashMap<>(); // guarded by itself
  private final Thread thread;

  /** One metric of one process. */
  private record Life(String node, int life, String metric) {}

  private Vitals(Cluster cluster, Load load, Receiver receiver, Progress progress) {
    this.cluster = cluster;
    this.load = load;
    this.receiver = receiver;
    this.progress = progress;
    this.thread = Watched.start(cluster.recorder(), "vitals", this::run);
  }

  public static Vitals watch(Cluster cluster, Load load, Receiver receiver, Progress progress) {
    return new Vitals(cluster, load, receiver, progress);
  }

  private void run() {
    try {
      while (true) {
        Thread.sleep(INTERVAL_MILLIS);
        for (Node node : cluster.nodes()) {
          count(node);
        }
        progress.at(load.acknowledged(), receiver.received());
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void count(Node node) throws InterruptedException {
    URI url = node.url();
    int life = node.lives();
    if (url == null || !node.isAlive()) {
      return;
    }
    Api.Call call = new Api.Call("GET", "/metrics", null, null, null, null);
    if (cluster.api().send(url, call, PATIENCE) instanceof Api.Reply.Answered answered
        && answered.status() == 200) {
      synchronized (counted) {
        for (String metric : COUNTED) {
          double value = sum(answered.text(), metric);
          counted.merge(new Life(node.label(), life, metric), value, Math::max);
        }
      }
    }
  }

  /** Over all its labels. */
  static double sum(String metrics, String name) {
    return metrics
        .lines()
        .filter(line -> line.startsWith(name + " ") || line.startsWith(name + "{"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** Notes what nodes have counted in all their lives. */
  public void sum() throws InterruptedException {
    for (Node node : cluster.nodes()) {
      count(node);
    }
    Map<List<String>, Double> sums = new LinkedHashMap<>();
    synchronized (counted) {
      counted.forEach(
          (life, value) -> sums.merge(List.of(life.node(), life.metric()), value, Double::sum));
    }
    sums.forEach(
        (of, value) ->
            cluster
                .recorder()
                .event(
                    "metric",
                    Fields.of("node", of.get(0)).and("name", of.get(1)).and("value", value)));
  }

  /** Notes what nodes use now. */
  public void note(String phase) {
    for (Node node : cluster.nodes()) {
      Path process = Path.of("/proc", Long.toString(node.pid()));
      cluster
          .recorder()
          .event(
              "resources",
              Fields.of("node", node.label())
                  .and("phase", phase)
                  .and("threads", entries(process.resolve("task")))
                  .and("fds", entries(process.resolve("fd")))
                  .and("connections", cluster.relay(node).ports().size()));
    }
  }

  private static long entries(Path directory) {
    try (Stream<Path> entries = Files.list(directory)) {
      return entries.count();
    } catch (IOException _) {
      return 0; // ended meanwhile
    }
  }

  @Override
  public void close() {
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
