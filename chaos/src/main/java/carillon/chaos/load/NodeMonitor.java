package carillon.chaos.load;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.HarnessThread;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.Progress;
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

/** Polls the metrics and resource use of the nodes, and shows the progress of the run. */
public final class NodeMonitor implements AutoCloseable {

  private static final long INTERVAL_MILLIS = 1_500;
  private static final Duration TIMEOUT = Duration.ofMillis(700);

  /** Counters of the nodes. When a node crashes, its counts since the last poll are lost. */
  private static final List<String> COUNTERS =
      List.of(
          "carillon_completer_fenced_total",
          "carillon_stale_terms_total",
          "carillon_reaper_reaped_total",
          "carillon_loop_failures_total");

  private final Cluster cluster;
  private final Load load;
  private final Receiver receiver;
  private final Progress progress;
  private final Map<Life, Double> counters = new LinkedHashMap<>(); // guarded by itself
  private final Thread thread;

  /** One metric of one process of a node. */
  private record Life(String node, int life, String metric) {}

  private NodeMonitor(Cluster cluster, Load load, Receiver receiver, Progress progress) {
    this.cluster = cluster;
    this.load = load;
    this.receiver = receiver;
    this.progress = progress;
    this.thread = HarnessThread.start(cluster.recorder(), "monitor", this::run);
  }

  public static NodeMonitor watch(
      Cluster cluster, Load load, Receiver receiver, Progress progress) {
    return new NodeMonitor(cluster, load, receiver, progress);
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
    if (cluster.api().send(url, call, TIMEOUT) instanceof Api.Reply.Answered answered
        && answered.status() == 200) {
      synchronized (counters) {
        for (String metric : COUNTERS) {
          double value = sum(answered.text(), metric);
          counters.merge(new Life(node.label(), life, metric), value, Math::max);
        }
      }
    }
  }

  /** The sum over all labels of the metric. */
  static double sum(String metrics, String name) {
    return metrics
        .lines()
        .filter(line -> line.startsWith(name + " ") || line.startsWith(name + "{"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** Records the total of each metric over all lives of each node. */
  public void recordMetrics() throws InterruptedException {
    for (Node node : cluster.nodes()) {
      count(node);
    }
    Map<List<String>, Double> sums = new LinkedHashMap<>();
    synchronized (counters) {
      counters.forEach(
          (life, value) -> sums.merge(List.of(life.node(), life.metric()), value, Double::sum));
    }
    sums.forEach(
        (key, value) ->
            cluster
                .recorder()
                .event(
                    "metric",
                    Fields.of("node", key.get(0)).and("name", key.get(1)).and("value", value)));
  }

  /** Records the current resource use of the nodes. */
  public void recordResources(String phase) {
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
      return 0; // the process has exited
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
