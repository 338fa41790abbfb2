package carillon.chaos.faults;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.Postgres;
import carillon.chaos.cluster.Relay;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Injects one fault into a cluster, and always undoes it. */
public final class FaultInjector {

  private static final int CUTS = 6;
  private static final Duration STOP_PATIENCE = Duration.ofSeconds(12);

  private final Cluster cluster;

  public FaultInjector(Cluster cluster) {
    this.cluster = cluster;
  }

  /**
   * The node that a fault hits, if it hits a single one; for a fault of the leader, the current
   * leader.
   */
  Optional<Node> victim(PlannedFault planned) {
    return switch (planned.fault()) {
      case LEADER_BACKEND_KILL, LEADER_KILL, LEADER_PAUSE -> leader();
      default ->
          planned.fault().scope == Fault.Scope.NODE
              ? Optional.of(cluster.nodes().get(planned.node() % cluster.nodes().size()))
              : Optional.empty();
    };
  }

  static boolean needsNode(Fault fault) {
    return switch (fault) {
      case LEADER_BACKEND_KILL, LEADER_KILL, LEADER_PAUSE -> true;
      default -> fault.scope == Fault.Scope.NODE;
    };
  }

  /**
   * Returns when the fault is over.
   *
   * @param effect incremented by each session that the fault terminated and each commit that it cut
   */
  void inject(PlannedFault planned, Optional<Node> victim, AtomicLong effect)
      throws InterruptedException, IOException, SQLException {
    switch (planned.fault()) {
      case KILL9, LEADER_KILL -> kill(victim.orElseThrow(), planned.length());
      case KILL_ALL -> killAll(planned);
      case SIGTERM -> terminate(victim.orElseThrow(), planned.length());
      case PAUSE_SHORT, PAUSE_LONG, LEADER_PAUSE -> pause(victim.orElseThrow(), planned.length());
      case FLAP -> flap(victim.orElseThrow(), planned);
      case BACKEND_KILL_IDLE -> killBackends(victim.orElseThrow(), " AND state = 'idle'", effect);
      case LEADER_BACKEND_KILL -> killBackends(victim.orElseThrow(), "", effect);
      case BACKEND_KILL_CLAIM -> killClaims(planned.length(), effect);
      case AMBIGUOUS_COMMIT -> cutCommits(victim.orElseThrow(), planned.length(), effect);
      case RESET -> cluster.relay(victim.orElseThrow()).rst();
      case PG_RESTART_FAST -> cluster.postgres().restart(Postgres.Stop.FAST, planned.length());
      case PG_CRASH -> cluster.postgres().restart(Postgres.Stop.IMMEDIATE, planned.length());
      case PG_FREEZE -> freeze(planned.length());
      case PARTITION, ONE_WAY_PARTITION, DELAY -> disturb(victim.orElseThrow(), planned);
      case ROLLING_PARTITION -> rollingPartition(planned);
      case HELD_SNAPSHOT -> holdSnapshot(planned.length());
      case LOCK_TABLE -> lockTable(planned);
    }
  }

  private void kill(Node node, Duration away) throws InterruptedException, IOException {
    try {
      node.kill9();
      Thread.sleep(away);
    } finally {
      node.start();
    }
  }

  private void killAll(PlannedFault planned) throws InterruptedException, IOException {
    List<Thread> kills = new ArrayList<>();
    for (Node node : cluster.nodes()) {
      kills.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      node.kill9();
                    } catch (InterruptedException _) {
                      Thread.currentThread().interrupt();
                    }
                  }));
    }
    try {
      for (Thread kill : kills) {
        kill.join();
      }
      for (Node node : cluster.nodes()) {
        Thread.sleep(planned.length().dividedBy(cluster.nodes().size()));
        node.start();
      }
    } finally {
      for (Node node : cluster.nodes()) {
        node.start();
      }
    }
  }

  private void terminate(Node node, Duration away) throws InterruptedException, IOException {
    try {
      if (!node.terminate(STOP_PATIENCE)) {
        node.kill9();
      }
      Thread.sleep(away);
    } finally {
      node.start();
    }
  }

  private static void pause(Node node, Duration length) throws InterruptedException {
    node.suspend();
    try {
      Thread.sleep(length);
    } finally {
      node.resume();
    }
  }

  private static void flap(Node node, PlannedFault planned) throws InterruptedException {
    SplittableRandom random = new SplittableRandom(planned.draw());
    long end = System.nanoTime() + planned.length().toNanos();
    while (System.nanoTime() - end < 0) {
      pause(node, Duration.ofMillis(random.nextInt(200, 1200)));
      Thread.sleep(random.nextInt(100, 500));
    }
  }

  /* Terminates the sessions of a node, which its relay has opened. */
  private static final String KILL_BACKENDS =
      """
      /* FaultInjector.killBackends */
      SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
      FROM pg_stat_activity
      WHERE datname = current_database()
        AND client_port = ANY (?)
      """;

  private void killBackends(Node node, String which, AtomicLong effect) throws SQLException {
    try (Connection connection = cluster.connect();
        PreparedStatement statement = connection.prepareStatement(KILL_BACKENDS + which)) {
      statement.setArray(1, connection.createArrayOf("int", cluster.relay(node).ports().toArray()));
      effect.addAndGet(number(statement));
    }
  }

  private static final String KILL_CLAIMS =
      """
      /* FaultInjector.killClaims */
      SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
      FROM pg_stat_activity
      WHERE datname = current_database()
        AND state <> 'idle'
        AND (query LIKE '/* WorkQueue.claim%' OR query LIKE '/* TaskInserts.insertClaimed%')
      """;

  private static long number(PreparedStatement statement) throws SQLException {
    try (ResultSet rows = statement.executeQuery()) {
      rows.next();
      return rows.getLong(1);
    }
  }

  private void killClaims(Duration length, AtomicLong effect)
      throws SQLException, InterruptedException {
    long end = System.nanoTime() + length.toNanos();
    try (Connection connection = cluster.connect();
        PreparedStatement statement = connection.prepareStatement(KILL_CLAIMS)) {
      while (System.nanoTime() - end < 0) {
        effect.addAndGet(number(statement));
        Thread.sleep(15);
      }
    }
  }

  private void cutCommits(Node node, Duration length, AtomicLong effect)
      throws InterruptedException {
    Relay relay = cluster.relay(node);
    int before = relay.cuts();
    relay.cutCommits(CUTS);
    try {
      Thread.sleep(length);
    } finally {
      relay.stopCutting();
      effect.addAndGet(relay.cuts() - before);
    }
  }

  private void freeze(Duration length) throws InterruptedException {
    cluster.postgres().freeze();
    try {
      Thread.sleep(length);
    } finally {
      cluster.postgres().thaw();
    }
  }

  private void disturb(Node node, PlannedFault planned) throws InterruptedException {
    Relay relay = cluster.relay(node);
    switch (planned.fault()) {
      case PARTITION -> relay.block();
      case ONE_WAY_PARTITION -> relay.blockResponses();
      default ->
          relay.delay(Duration.ofMillis(new SplittableRandom(planned.draw()).nextInt(20, 250)));
    }
    try {
      Thread.sleep(planned.length());
    } finally {
      relay.pass();
    }
  }

  private void rollingPartition(PlannedFault planned) throws InterruptedException {
    SplittableRandom random = new SplittableRandom(planned.draw());
    List<Relay> relays = new ArrayList<>();
    cluster.nodes().forEach(node -> relays.add(cluster.relay(node)));
    Duration step = planned.length().dividedBy(2L * relays.size());
    try {
      for (Relay relay : relays) {
        if (random.nextInt(3) > 0) {
          relay.block();
        }
        Thread.sleep(step);
      }
      List<Relay> healed = new ArrayList<>(relays);
      while (!healed.isEmpty()) {
        healed.remove(random.nextInt(healed.size())).pass();
        Thread.sleep(step);
      }
    } finally {
      relays.forEach(Relay::pass);
    }
  }

  private void holdSnapshot(Duration length) throws SQLException, InterruptedException {
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      statement.execute("/* FaultInjector.holdSnapshot */ SELECT count(*) FROM carillon.node");
      Thread.sleep(length);
      connection.rollback();
    }
  }

  private void lockTable(PlannedFault planned) throws SQLException, InterruptedException {
    String table =
        new SplittableRandom(planned.draw()).nextBoolean() ? "carillon.task" : "carillon.queue";
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("/* FaultInjector.lockTable */ LOCK TABLE " + table + " IN SHARE MODE");
      Thread.sleep(planned.length());
      connection.rollback();
    }
  }

  /* The node whose leadership has not expired. */
  private static final String LEADER =
      """
      /* FaultInjector.leader */
      SELECT n.label
      FROM carillon.leadership l
      JOIN carillon.node n ON n.id = l.node
      WHERE l.lease_until > clock_timestamp()
      """;

  public Optional<Node> leader() {
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(LEADER)) {
      return rows.next()
          ? cluster.nodes().stream().filter(node -> hasLabel(node, rows)).findFirst()
          : Optional.empty();
    } catch (SQLException _) {
      return Optional.empty(); // the database is unreachable
    }
  }

  private static boolean hasLabel(Node node, ResultSet row) {
    try {
      return node.label().equals(row.getString(1));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static final String IN_FLIGHT =
      """
      /* FaultInjector.inFlight */
      SELECT count(*)
      FROM carillon.claim c
      JOIN carillon.node n ON n.id = c.node
      WHERE n.label = ?
        AND n.lease_until > clock_timestamp()
        AND n.started_at >= ?::timestamptz
      """;

  /**
   * How many unfinished claims a node has, or all nodes have. Counts claims of current processes
   * only, not those that crashed ones left. 0 if the database is unreachable.
   */
  long inFlight(Optional<Node> node) {
    try (Connection connection = cluster.connect();
        PreparedStatement statement = connection.prepareStatement(IN_FLIGHT)) {
      long sum = 0;
      for (Node each : node.map(List::of).orElseGet(cluster::nodes)) {
        statement.setString(1, each.label());
        statement.setString(2, each.launched().toString());
        sum += each.isAlive() ? number(statement) : 0;
      }
      return sum;
    } catch (SQLException _) {
      return 0;
    }
  }
}
