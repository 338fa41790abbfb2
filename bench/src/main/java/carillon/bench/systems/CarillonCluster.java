package carillon.bench.systems;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Several nodes of Carillon on one database; tasks are created through the first. */
public final class CarillonCluster implements Contender {

  private static final Duration POLL = Duration.ofMillis(50);

  /** Eight nodes must fit into PostgreSQL's {@code max_connections}. */
  private static final List<String> FEWER_CONNECTIONS = List.of("--pool-size", "10");

  private final CarillonServer first;
  private final List<Node> others;
  private final Path log;
  private String type = "";

  private CarillonCluster(CarillonServer first, List<Node> others, Path log) {
    this.first = first;
    this.others = others;
    this.log = log;
  }

  /**
   * @param log the log file of PostgreSQL
   */
  static CarillonCluster start(
      Database database, Path directory, List<String> options, int nodes, Path log)
      throws IOException, SQLException {
    List<String> all = new ArrayList<>(FEWER_CONNECTIONS);
    all.addAll(options);
    CarillonCluster cluster =
        new CarillonCluster(CarillonServer.start(database, directory, all), new ArrayList<>(), log);
    try {
      for (int i = 2; i <= nodes; i++) {
        cluster.others.add(
            Node.start(
                directory.resolve(database.name() + "-" + i),
                CarillonServer.options(database, all)));
      }
      return cluster;
    } catch (IOException | RuntimeException e) {
      cluster.close();
      throw e;
    }
  }

  public int size() {
    return others.size() + 1;
  }

  public Path log() {
    return log;
  }

  @Override
  public Database store() {
    return first.store();
  }

  @Override
  public long pid() {
    return first.pid();
  }

  @Override
  public List<Long> pids() {
    List<Long> pids = new ArrayList<>(List.of(first.pid()));
    others.forEach(node -> pids.add(node.pid()));
    return pids;
  }

  @Override
  public String settings() {
    return size() + " nodes with all roles and --pool-size 10; one type with 64 slices";
  }

  public Duration lead(int tasks) {
    return first.lead(tasks);
  }

  /** Creates tasks that are all due at one instant. */
  public void load(int tasks, int slices, Instant due) throws IOException {
    type = first.newType(Map.of("target", Map.of("discard", Map.of()), "slices", slices));
    first.submit(null, tasks, _ -> Tasks.task(type, CarillonServer.due(due)));
  }

  private static final String HAS_ENDED =
      """
      SELECT /* bench */ NOT EXISTS (
                 SELECT
                 FROM carillon.lane l
                 JOIN carillon.queue q ON q.lane = l.id
                 WHERE l.type = ?)
             AND NOT EXISTS (SELECT FROM carillon.claim WHERE node IS NOT NULL)
      """;

  /** Waits until no task of the type is pending or running. */
  public void awaitEnd(Duration timeout) throws IOException, SQLException, InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    try (Connection connection = store().connect();
        Statement settings = connection.createStatement();
        PreparedStatement statement = connection.prepareStatement(HAS_ENDED)) {
      settings.execute("SET enable_seqscan = off");
      settings.execute("SET enable_bitmapscan = off");
      settings.execute("SET enable_hashjoin = off");
      settings.execute("SET enable_mergejoin = off");
      statement.setString(1, type);
      while (!isTrue(statement)) {
        if (System.nanoTime() > end) {
          throw new IOException("not all tasks finished within " + timeout);
        }
        Thread.sleep(POLL);
      }
    }
  }

  private static boolean isTrue(PreparedStatement statement) throws SQLException {
    try (ResultSet row = statement.executeQuery()) {
      return row.next() && row.getBoolean(1);
    }
  }

  /** Seconds from the first start to the last end. */
  public double seconds(int tasks) throws SQLException {
    return first.seconds(tasks);
  }

  /** The number of tasks of the node with the fewest, divided by an even share. */
  public double minShare(int tasks) throws SQLException {
    double[] counts = store().column(BY_NODE, type);
    double min = counts.length < size() ? 0 : counts[0];
    return min * size() / tasks;
  }

  private static final String BY_NODE =
      """
      SELECT count(*)
      FROM carillon.task t
      JOIN carillon.lane l ON l.id = t.lane
      WHERE l.type = ?
      GROUP BY t.leased_by
      ORDER BY 1
      """;

  /**
   * How many statements claimed or ended tasks since statistics were reset. They are recognised by
   * their SQL, because PostgreSQL drops a comment that precedes a statement.
   *
   * @throws IllegalStateException if there is none of a kind, which means that its SQL has changed
   */
  public double claimsAndEnds() throws SQLException {
    double claims = calls("%SKIP LOCKED%INSERT INTO carillon.claim (%");
    double nextDue = calls("%AS next_at%");
    double ends = calls("%WHERE c.id = f.claim%UPDATE carillon.task%");
    if (claims == 0 || ends == 0) {
      throw new IllegalStateException(
          "found %.0f claims and %.0f ends in pg_stat_statements".formatted(claims, ends));
    }
    return claims + nextDue + ends;
  }

  private double calls(String pattern) throws SQLException {
    return Double.parseDouble(store().asSuperuser().one(CALLS, pattern));
  }

  private static final String CALLS =
      """
      SELECT coalesce(sum(calls), 0)
      FROM pg_stat_statements s
      JOIN pg_database d ON d.oid = s.dbid
      WHERE d.datname = current_database()
        AND s.toplevel
        AND s.query LIKE ?
      """;

  @Override
  public void close() throws SQLException {
    try {
      others.forEach(Node::close);
    } finally {
      first.close();
    }
  }
}
