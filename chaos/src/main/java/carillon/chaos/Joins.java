package carillon.chaos;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.Progress;
import carillon.chaos.faults.FaultInjector;
import carillon.chaos.history.Fields;
import carillon.chaos.load.Load;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Lets nodes join and leave under load, and measures how long the shards take to be balanced again.
 */
final class Joins implements Run.Body {

  static final int CHANGES = 20;

  private static final int MIN_NODES = 2;
  private static final int MAX_NODES = 4;
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(20);

  private final Duration length;
  private final SplittableRandom random;
  private final Progress progress;
  private final List<Change> changes = new ArrayList<>();
  private int lastNumber = MIN_NODES;

  /**
   * A node that joined or left.
   *
   * @param evenAfter time until the shards were balanced, from when the node was ready or began to
   *     stop; the timeout if they never were
   * @param moved shards that changed their owner
   * @param shards per label, at the end of the measurement
   */
  record Change(
      String what,
      String node,
      int nodes,
      boolean isEven,
      Duration evenAfter,
      long moved,
      Map<String, Integer> shards) {}

  Joins(Duration length, SplittableRandom random, Progress progress) {
    this.length = length;
    this.random = random;
    this.progress = progress;
  }

  List<Change> changes() {
    return changes;
  }

  @Override
  public void run(Cluster cluster, Load load)
      throws IOException, SQLException, InterruptedException {
    cluster.recorder().event("phase", Fields.of("name", "safety"));
    progress.step("joins");
    long start = System.nanoTime();
    for (int i = 0; i < CHANGES; i++) {
      long wait = start + length.toNanos() / CHANGES * i - System.nanoTime();
      if (wait > 0) {
        Thread.sleep(Duration.ofNanos(wait));
      }
      Change change = change(cluster);
      changes.add(change);
      cluster
          .recorder()
          .event(
              "membership",
              Fields.of("change", change.what())
                  .and("node", change.node())
                  .and("nodes", change.nodes())
                  .and("even", change.isEven())
                  .and("afterMillis", change.evenAfter().toMillis())
                  .and("moved", change.moved()));
      progress.step(
          "%d of %d: %s %s, %s after %d ms"
              .formatted(
                  i + 1,
                  CHANGES,
                  change.node(),
                  change.what(),
                  change.isEven() ? "balanced" : "NOT BALANCED",
                  change.evenAfter().toMillis()));
    }
    long remaining = start + length.toNanos() - System.nanoTime();
    if (remaining > 0) {
      Thread.sleep(Duration.ofNanos(remaining));
    }
  }

  private Change change(Cluster cluster) throws IOException, SQLException, InterruptedException {
    List<Node> nodes = cluster.nodes();
    boolean isJoin =
        nodes.size() <= MIN_NODES || (nodes.size() < MAX_NODES && random.nextBoolean());
    long moved = moved(cluster);
    if (isJoin) {
      Node node = cluster.add("node-" + ++lastNumber, cluster.settings().program());
      node.start();
      cluster.awaitReady(node);
      return awaitEven(cluster, "joins", node, moved, System.nanoTime());
    }
    Node any = nodes.get(random.nextInt(nodes.size()));
    Node node =
        random.nextInt(3) == 0
            ? new FaultInjector(cluster).leader().orElse(any)
            : any; // the leader matters most
    long began = System.nanoTime();
    if (!node.terminate(STOP_TIMEOUT)) {
      cluster.recorder().event("node-stuck", Fields.of("node", node.label()));
    }
    cluster.remove(node);
    return awaitEven(cluster, "leaves", node, moved, began);
  }

  private Change awaitEven(Cluster cluster, String what, Node node, long movedBefore, long began)
      throws SQLException, InterruptedException {
    long end = System.nanoTime() + Math.min(length.toNanos() / CHANGES, STOP_TIMEOUT.toNanos());
    while (true) {
      Map<String, Integer> shards = shards(cluster);
      boolean even = isEven(shards, cluster.nodes().stream().map(Node::label).toList());
      if (even || System.nanoTime() - end > 0) {
        return new Change(
            what,
            node.label(),
            cluster.nodes().size(),
            even,
            Duration.ofNanos(System.nanoTime() - began),
            moved(cluster) - movedBefore,
            shards);
      }
      Thread.sleep(50);
    }
  }

  /** Whether exactly these nodes own the shards, and their counts differ by at most one. */
  static boolean isEven(Map<String, Integer> shards, List<String> nodes) {
    if (!shards.keySet().equals(Set.copyOf(nodes))) {
      return false;
    }
    int max = shards.values().stream().mapToInt(Integer::intValue).max().orElse(0);
    int min = shards.values().stream().mapToInt(Integer::intValue).min().orElse(0);
    return max - min <= 1;
  }

  /* Shards without a live owner are counted as unowned. */
  private static final String SHARDS =
      """
      /* Joins.shards */
      SELECT coalesce(n.label, 'unowned'), count(*)
      FROM carillon.shard s
      LEFT JOIN carillon.node n ON n.id = s.node AND n.lease_until > clock_timestamp() AND NOT n.draining
      GROUP BY 1
      """;

  private static Map<String, Integer> shards(Cluster cluster) throws SQLException {
    Map<String, Integer> shards = new TreeMap<>();
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(SHARDS)) {
      while (rows.next()) {
        shards.put(rows.getString(1), rows.getInt(2));
      }
    }
    return shards;
  }

  private static long moved(Cluster cluster) throws SQLException {
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery("/* Joins.moved */ SELECT count(*) FROM chaos.shard_log")) {
      rows.next();
      return rows.getLong(1);
    }
  }
}
