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

/** Does one fault to a cluster, and undoes it, whatever happens meanwhile. */
public final class Faults {

  private static final int CUTS = 6;
  private static final Duration STOP_PATIENCE = Duration.ofSeconds(12);

  private final Cluster cluster;

  public Faults(Cluster cluster) {
    this.cluster = cluster;
  }

  /** The node that a strike hits, as far as it is one; of those on the leader, who leads now. */
  Optional<Node> victim(Strike strike) {
    return switch (strike.fault()) {
      case LEADER_BACKEND_KILL, LEADER_KILL, LEADER_PAUSE -> leader();
      default ->
          strike.fault().hits == Fault.Hits.NODE
              ? Optional.of(cluster.nodes().get(strike.node() % cluster.nodes().size()))
              : Optional.empty();
    };
  }

  static boolean needsNode(Fault fault) {
    return switch (fault) {
      case LEADER_BACKEND_KILL, LEADER_KILL, LEADER_PAUSE -> true;
      default -> fault.hits == Fault.Hits.NODE;
    };
  }

  /**
   * Returns when it is over.
   *
   * @param effect is raised by each session that it ended and each commit that it cut
   */
  void strike(Strike strike, Optional<Node> victim, AtomicLong effect)
      throws InterruptedException, IOException, SQLException {
    switch (strike.fault()) {
      case KILL9, LEADER_KILL -> kill(victim.orElseThrow(), strike.length());
      case KILL_ALL -> killAll(strike);
      case TERM -> terminate(victim.orElseThrow(), strike.length());
      case PAUSE_SHORT, PAUSE_LONG, LEADER_PAUSE -> pause(victim.orElseThrow(), strike.length());
      case FLAP -> flap(victim.orElseThrow(), strike);
      case BACKEND_KILL_IDLE -> killBackends(victim.orElseThrow(), " AND state = 'idle'", effect);
      case LEADER_BACKEND_KILL -> killBackends(victim.orElseThrow(), "", effect);
      case BACKEND_KILL_CLAIM -> killClaims(strike.length(), effect);
      case AMBIGUOUS_COMMIT -> cutCommits(victim.orElseThrow(), strike.length(), effect);
      case RESET -> cluster.relay(victim.orElseThrow()).rst();
      case PG_RESTART_FAST -> cluster.postgres().restart(Postgres.Stop.FAST, strike.length());
      case PG_CRASH -> cluster.postgres().restart(Postgres.Stop.IMMEDIATE, strike.length());
      case PG_FREEZE -> freeze(strike.length());
      case DROP, HALF, DELAY -> disturb(victim.orElseThrow(), strike);
      case SWIZZLE -> swizzle(strike);
      case HELD_SNAPSHOT -> holdSnapshot(strike.length());
      case LOCK_TABLE -> lockTable(strike.length());
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

  private void killAll(Strike strike) throws InterruptedException, IOException {
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
        Thread.sleep(strike.length().dividedBy(cluster.nodes().size()));
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

  private static void flap(Node node, Strike strike) throws InterruptedException {
    SplittableRandom random = new SplittableRandom(strike.draw());
    long end = System.nanoTime() + strike.length().toNanos();
    while (System.nanoTime() - end < 0) {
      pause(node, Duration.ofMillis(random.nextInt(200, 1200)));
      Thread.sleep(random.nextInt(100, 500));
    }
  }

  /* Ends sessions that a node's relay has opened. */
  private static final String KILL_BACKENDS =
      """
      /* Faults.killBackends */
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
      /* Faults.killClaims */
      SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
      FROM pg_stat_activity
      WHERE datname = current_database()
        AND state <> 'idle'
        AND query LIKE '/* WorkQueue.claim%'
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

  private void disturb(Node node, Strike strike) throws InterruptedException {
    Relay relay = cluster.relay(node);
    switch (strike.fault()) {
      case DROP -> relay.drop();
      case HALF -> relay.half();
      default ->
          relay.delay(Duration.ofMillis(new SplittableRandom(strike.draw()).nextInt(20, 250)));
    }
    try {
      Thread.sleep(strike.length());
    } finally {
      relay.pass();
    }
  }

  private void swizzle(Strike strike) throws InterruptedException {
    SplittableRandom random = new SplittableRandom(strike.draw());
    List<Relay> relays = new ArrayList<>();
    cluster.nodes().forEach(node -> relays.add(cluster.relay(node)));
    Duration step = strike.length().dividedBy(2L * relays.size());
    try {
      for (Relay relay : relays) {
        if (random.nextInt(3) > 0) {
          relay.drop();
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
      statement.execute("/* Faults.holdSnapshot */ SELECT count(*) FROM carillon.node");
      Thread.sleep(length);
      connection.rollback();
    }
  }

  private void lockTable(Duration length) throws SQLException, InterruptedException {
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("/* Faults.lockTable */ LOCK TABLE carillon.task IN SHARE MODE");
      Thread.sleep(length);
      connection.rollback();
    }
  }

  /* The node whose leadership has not expired. */
  private static final String LEADER =
      """
      /* Faults.leader */
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
          ? cluster.nodes().stream().filter(node -> isCalled(node, rows)).findFirst()
          : Optional.empty();
    } catch (SQLException _) {
      return Optional.empty(); // no leaders in this program, or no database now
    }
  }

  private static boolean isCalled(Node node, ResultSet row) {
    try {
      return node.label().equals(row.getString(1));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static final String IN_FLIGHT =
      """
      /* Faults.inFlight */
      SELECT count(*)
      FROM carillon.claim c
      JOIN carillon.node n ON n.id = c.node
      WHERE n.label = ?
        AND n.lease_until > clock_timestamp()
        AND n.started_at >= ?::timestamptz
      """;

  /**
   * Claims that a node, or all of them, have not ended yet: of the lives that they have now, not of
   * those whose leases are left. 0 if the database cannot say.
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
