package carillon.chaos.cluster;

import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Recorder;
import carillon.chaos.history.Witness;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a run and their database. Each node reaches the database only through its own relay.
 */
public final class Cluster implements AutoCloseable {

  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(20);
  private static final int BUSY_TRIES = 40;

  private final Postgres postgres;
  private final String database;
  private final Settings settings;
  private final Path directory;
  private final Recorder recorder;
  private final String adminKey;
  private final Api api = new Api();
  private final Map<String, Node> nodes = new LinkedHashMap<>(); // guarded by itself
  private final Map<String, Relay> relays = new LinkedHashMap<>(); // guarded by nodes

  /**
   * The nodes to start.
   *
   * @param nodes initial number of nodes
   * @param lease of nodes and their claims
   * @param options further options of the server
   * @param oldProgram the program of the last node; null for the same program
   */
  public record Settings(
      int nodes,
      Duration lease,
      Program program,
      List<String> options,
      @Nullable Program oldProgram) {

    /** Three nodes of one program, with a short lease so that a run can be short. */
    public static Settings of(Program program) {
      return new Settings(3, Duration.ofSeconds(3), program, List.of(), null);
    }

    /** The program of the node with this number, from 1. */
    Program programOf(int number) {
      return oldProgram != null && number == nodes ? oldProgram : program;
    }

    public Settings withOldProgram(@Nullable Program old) {
      return new Settings(nodes, lease, program, options, old);
    }

    /** The nodes resolve host names from this file, except a node with an old program. */
    public Settings withHostsFile(Path hosts) {
      return new Settings(
          nodes, lease, program.with(RebindingHost.flags(hosts)), options, oldProgram);
    }

    public Settings with(int count, List<String> moreOptions) {
      return new Settings(count, lease, program, moreOptions, oldProgram);
    }
  }

  private Cluster(
      Postgres postgres, String database, Settings settings, Path directory, Recorder recorder) {
    this.postgres = postgres;
    this.database = database;
    this.settings = settings;
    this.directory = directory;
    this.recorder = recorder;
    this.adminKey =
        "chaos-admin-key-%019d-0123456789"
            .formatted(new SplittableRandom().nextLong(Long.MAX_VALUE));
  }

  /**
   * Starts the nodes on a new database. Returns when every node is ready and the witness is
   * installed.
   */
  public static Cluster start(
      Postgres postgres, String database, Settings settings, Path directory, Recorder recorder)
      throws IOException, SQLException, InterruptedException {
    Files.createDirectories(directory.resolve(History.LOGS));
    postgres.createDatabase(database);
    Cluster cluster = new Cluster(postgres, database, settings, directory, recorder);
    try {
      Files.writeString(directory.resolve("admin-key"), cluster.adminKey);
      for (int i = 1; i <= settings.nodes(); i++) {
        cluster.add("node-" + i, settings.programOf(i)).start();
        if (i == 1) {
          cluster.awaitReady(cluster.node("node-1")); // it migrates the database alone
        }
      }
      cluster.awaitReady();
      try (Connection connection = cluster.connect()) {
        Witness.install(connection);
        SlowReports.install(connection);
      }
      return cluster;
    } catch (IOException | SQLException | InterruptedException | RuntimeException e) {
      cluster.close();
      throw e;
    }
  }

  /** Adds a node without starting it. */
  public Node add(String label, Program program) throws IOException, SQLException {
    postgres.createRole(label); // tells the witness which node wrote
    Relay relay = Relay.to(postgres.port());
    List<String> options = new ArrayList<>();
    options.addAll(
        List.of(
            "--database-url",
            "postgresql://%s:%s@127.0.0.1:%d/%s"
                .formatted(label, postgres.password(), relay.port(), database)));
    options.addAll(List.of("--admin-key-file", directory.resolve("admin-key").toString()));
    options.addAll(List.of("--node-lease", settings.lease().toMillis() + "ms"));
    if (!settings.options().contains("--allow-targets")) {
      options.addAll(List.of("--allow-targets", RebindingHost.ALLOWED + "/32"));
    }
    options.addAll(List.of("--drain-timeout", "3s"));
    options.addAll(settings.options());
    Path log = directory.resolve(History.LOGS).resolve(label + ".log");
    Node node = new Node(label, program, directory.resolve(label), log, options, recorder);
    synchronized (nodes) {
      nodes.put(label, node);
      relays.put(label, relay);
    }
    return node;
  }

  /** Removes a stopped node. */
  public void remove(Node node) throws IOException {
    Relay relay;
    synchronized (nodes) {
      nodes.remove(node.label());
      relay = relays.remove(node.label());
    }
    node.close();
    if (relay != null) {
      relay.close();
    }
  }

  public void awaitReady() throws InterruptedException, IOException {
    for (Node node : nodes()) {
      awaitReady(node);
    }
  }

  public void awaitReady(Node node) throws InterruptedException, IOException {
    long end = System.nanoTime() + START_TIMEOUT.toNanos();
    while (!node.isReady(api)) {
      if (System.nanoTime() - end > 0) {
        throw new IOException(
            node.label() + " was not ready in " + START_TIMEOUT.toSeconds() + " s; see its log");
      }
      Thread.sleep(50);
    }
  }

  public List<Node> nodes() {
    synchronized (nodes) {
      return List.copyOf(nodes.values());
    }
  }

  public Node node(String label) {
    synchronized (nodes) {
      Node node = nodes.get(label);
      if (node == null) {
        throw new IllegalArgumentException("There is no node " + label + ".");
      }
      return node;
    }
  }

  public Relay relay(Node node) {
    synchronized (nodes) {
      Relay relay = relays.get(node.label());
      if (relay == null) {
        throw new IllegalArgumentException("There is no node " + node.label() + ".");
      }
      return relay;
    }
  }

  public Settings settings() {
    return settings;
  }

  public Postgres postgres() {
    return postgres;
  }

  /** Connects directly to the database, without a relay. */
  public Connection connect() throws SQLException {
    return postgres.connect(database);
  }

  public Api api() {
    return api;
  }

  public String adminKey() {
    return adminKey;
  }

  public Recorder recorder() {
    return recorder;
  }

  /**
   * Calls the first node while nothing is broken; fails without a 2xx response. On a busy machine
   * the node may answer 503, so these calls are repeated.
   */
  public Api.Reply.Answered callSuccessfully(Api.Call call)
      throws InterruptedException, IOException {
    for (int i = 0; ; i++) {
      URI url = nodes().getFirst().url();
      Api.Reply reply = url == null ? new Api.Reply.NotSent("not ready") : api.send(url, call);
      if (reply instanceof Api.Reply.Answered answered && answered.status() / 100 == 2) {
        return answered;
      }
      boolean isBusy = reply instanceof Api.Reply.Answered answered && answered.status() == 503;
      if (!isBusy || i == BUSY_TRIES) {
        throw new IOException(call.method() + " " + call.path() + ": " + reply);
      }
      Thread.sleep(250);
    }
  }

  /** Undoes remaining effects of faults: every node runs and every relay is open. */
  public void heal() throws IOException, InterruptedException {
    postgres.heal();
    for (Node node : nodes()) {
      Relay relay = relay(node);
      relay.stopCutting();
      relay.pass();
      node.resume();
      node.start();
    }
  }

  /** Stops all nodes gracefully. A node that does not stop in time is recorded and killed. */
  public void stop() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (Node node : nodes()) {
      threads.add(Thread.ofVirtual().start(() -> stop(node)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private void stop(Node node) {
    try {
      if (!node.terminate(STOP_TIMEOUT)) {
        recorder.event("node-stuck", Fields.of("node", node.label()));
        node.kill9();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    api.close();
    for (Node node : nodes()) {
      try {
        remove(node);
      } catch (IOException _) {
        // the listener is closed already
      }
    }
  }
}
