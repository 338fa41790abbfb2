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

/** Lets nodes join and leave under load, and looks each time how the shards come to lie. */
final class Joins implements Run.Course {

  static final int CHANGES = 20;

  private static final int FEWEST = 2;
  private static final int MOST = 4;
  private static final Duration STOP_PATIENCE = Duration.ofSeconds(20);

  private final Duration length;
  private final SplittableRandom random;
  private final Progress progress;
  private final List<Change> changes = new ArrayList<>();
  private int lastNumber = FEWEST;

  /**
   * A node that joined or left.
   *
   * @param evenAfter from when it was ready or began to leave; the patience, if it never was even
   * @param moved shards that changed hands
   * @param shards by label, once they were even
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
                  change.isEven() ? "even" : "NOT EVEN",
                  change.evenAfter().toMillis()));
    }
    long rest = start + length.toNanos() - System.nanoTime();
    if (rest > 0) {
      Thread.sleep(Duration.ofNanos(rest));
    }
  }

  private Change change(Cluster cluster) throws IOException, SQLException, InterruptedException {
    List<Node> nodes = cluster.nodes();
    boolean joins = nodes.size() <= FEWEST || (nodes.size() < MOST && random.nextBoolean());
    long moved = moved(cluster);
    if (joins) {
      Node node = cluster.add("node-" + ++lastNumber, cluster.settings().program());
      node.start();
      cluster.awaitReady(node);
      return settled(cluster, "joins", node, moved, System.nanoTime());
    }
    Node any = nodes.get(random.nextInt(nodes.size()));
    Node node =
        random.nextInt(3) == 0
            ? new FaultInjector(cluster).leader().orElse(any)
            : any; // it counts most
    long began = System.nanoTime();
    if (!node.terminate(STOP_PATIENCE)) {
      cluster.recorder().event("node-stuck", Fields.of("node", node.label()));
    }
    cluster.remove(node);
    return settled(cluster, "leaves", node, moved, began);
  }

  private Change settled(Cluster cluster, String what, Node node, long movedBefore, long began)
      throws SQLException, InterruptedException {
    long end = System.nanoTime() + Math.min(length.toNanos() / CHANGES, STOP_PATIENCE.toNanos());
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

  /** Whether those nodes and nobody else have them, none more than one more than another. */
  static boolean isEven(Map<String, Integer> shards, List<String> nodes) {
    if (!shards.keySet().equals(Set.copyOf(nodes))) {
      return false;
    }
    int most = shards.values().stream().mapToInt(Integer::intValue).max().orElse(0);
    int fewest = shards.values().stream().mapToInt(Integer::intValue).min().orElse(0);
    return most - fewest <= 1;
  }

  /* Shards of nobody count for a node that does not exist. */
  private static final String SHARDS =
      """
      /* Joins.shards */
      SELECT coalesce(n.label, 'nobody'), count(*)
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
