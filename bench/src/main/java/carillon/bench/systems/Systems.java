package carillon.bench.systems;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Starts the systems, each time on an empty store. */
public final class Systems {

  public static final List<String> PEERS =
      List.of("graphile-worker", "pg-boss", "db-scheduler", "jobrunr", "quartz", "bullmq");

  private static final Set<String> JAVA_PEERS = Set.of("db-scheduler", "jobrunr", "quartz");

  private static final Path NODE = Path.of("bench/node/run").toAbsolutePath();
  private static final Path SERVER = Path.of("server/target/carillon-server.jar").toAbsolutePath();

  private final Postgres postgres;
  private final Path directory;
  private final List<String> serverOptions;

  /**
   * @param serverOptions additional options for {@code ./carillon server}
   */
  public Systems(Postgres postgres, Path directory, List<String> serverOptions) {
    this.postgres = postgres;
    this.directory = directory;
    this.serverOptions = serverOptions;
  }

  /** Returns why a peer cannot run here, or empty; installs its dependencies if possible. */
  public static Optional<String> missing(String peer) throws IOException, InterruptedException {
    if (JAVA_PEERS.contains(peer)) {
      return Optional.empty();
    }
    if (!Files.isExecutable(NODE)) {
      return Optional.of("bench/node/run does not exist");
    }
    Process check =
        new ProcessBuilder(NODE.toString(), "--check")
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    String why = new String(check.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    if (check.waitFor() != 0) {
      return Optional.of(why);
    }
    return peer.equals("bullmq") ? Redis.missing() : Optional.empty();
  }

  public CarillonServer carillon() throws IOException, SQLException {
    return CarillonServer.start(postgres.database(), directory, serverOptions);
  }

  public CarillonServer carillon(List<String> moreOptions) throws IOException, SQLException {
    List<String> all = new ArrayList<>(serverOptions);
    all.addAll(moreOptions);
    return CarillonServer.start(postgres.database(), directory, all);
  }

  public CarillonCluster cluster(int nodes) throws IOException, SQLException {
    Database database = postgres.database();
    database.asSuperuser().execute(LockWaits.SETTINGS);
    return CarillonCluster.start(database, directory, serverOptions, nodes, postgres.log());
  }

  /** Carillon on a database whose log can have every plan. */
  public CarillonServer explained() throws IOException, SQLException {
    Database database = postgres.database();
    database.asSuperuser().execute(Plans.SETTINGS);
    return CarillonServer.start(database, directory, serverOptions);
  }

  /** Carillon itself creates the tables, so they are those of the measured program. */
  public SqlLimit sql() throws IOException, SQLException {
    Database database = postgres.database();
    CarillonServer.start(database, directory, serverOptions).stop();
    return SqlLimit.start(database);
  }

  public Peer peer(String name) throws IOException, SQLException {
    Store store = name.equals("bullmq") ? Redis.start(directory) : postgres.database();
    List<String> command =
        JAVA_PEERS.contains(name)
            ? java(List.of("-Xmx1g"), "carillon.bench.peers.Driver", name)
            : List.of(NODE.toString(), name);
    return new Peer(store, start(name, command, store));
  }

  /** Carillon creates the tables and one task, which is the template for all rows. */
  public RawLimit raw() throws IOException, SQLException {
    Database database = postgres.database();
    CarillonServer carillon = CarillonServer.start(database, directory, serverOptions);
    try {
      carillon.createOneTask();
    } finally {
      carillon.stop();
    }
    List<String> flags =
        List.of("-Xms64m", "-Xmx384m", "-Djava.io.tmpdir=" + directory); // as for a node
    List<String> command = java(flags, "carillon.bench.peers.Raw");
    return new RawLimit(database, start("raw", command, database));
  }

  private PeerProcess start(String name, List<String> command, Store store)
      throws IOException, SQLException {
    try {
      return PeerProcess.start(
          name,
          command,
          Map.of(
              store instanceof Redis ? "BENCH_REDIS_URL" : "BENCH_DATABASE_URL",
              store.url(),
              "BENCH_PAYLOAD",
              Tasks.payload()),
          directory);
    } catch (IOException e) {
      store.close();
      throw e;
    }
  }

  private static List<String> java(List<String> flags, String... main) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:+UseParallelGC");
    command.addAll(flags);
    command.addAll(List.of("-cp", System.getProperty("java.class.path") + ":" + SERVER));
    command.addAll(List.of(main));
    return command;
  }
}
