package carillon.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

/** Starts every system there is, each time on an empty store. */
final class Systems {

  private final Postgres postgres;
  private final Path directory;
  private final List<String> serverOptions;

  /**
   * @param serverOptions more of them for {@code ./carillon server}
   */
  Systems(Postgres postgres, Path directory, List<String> serverOptions) {
    this.postgres = postgres;
    this.directory = directory;
    this.serverOptions = serverOptions;
  }

  CarillonServer carillon() throws IOException, SQLException {
    return CarillonServer.start(postgres.database(), directory, serverOptions);
  }

  SqlLimit sql() throws SQLException {
    return SqlLimit.start(postgres.database());
  }

  Peer peer(String name) throws IOException, SQLException {
    Database database = postgres.database();
    return new Peer(
        database,
        PeerProcess.start(
            name,
            java("carillon.bench.peers.Driver", name),
            Map.of("BENCH_DATABASE_URL", database.url(), "BENCH_PAYLOAD", Tasks.payload()),
            directory));
  }

  private static List<String> java(String main, String argument) {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String jar = System.getProperty("java.class.path");
    return List.of(java, "-XX:+UseParallelGC", "-Xmx1g", "-cp", jar, main, argument);
  }
}
