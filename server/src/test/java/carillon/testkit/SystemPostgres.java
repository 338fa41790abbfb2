package carillon.testkit;

import static org.awaitility.Awaitility.await;

import carillon.app.postgres.UnprivilegedUser;
import carillon.store.db.Db;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * The PostgreSQL from the system's packages, with its {@code pg_dump}: the oldest supported version
 * that is installed. Where none is installed, its tests are skipped with a message; in CI they
 * fail.
 */
public final class SystemPostgres implements AutoCloseable {

  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final int OLDEST = 15;
  private static final Path PACKAGES = Path.of("/usr/lib/postgresql");
  private static final String SUPERUSER = "postgres";

  private final Path programs;
  private final Path cluster;
  private final UnprivilegedUser user;
  private final int port;

  private SystemPostgres(Path programs, Path cluster, UnprivilegedUser user, int port) {
    this.programs = programs;
    this.cluster = cluster;
    this.user = user;
    this.port = port;
  }

  /** Creates and starts a server, and returns when it accepts connections. */
  public static SystemPostgres start(Path directory) {
    try {
      Path programs = programs();
      Path cluster = Files.createDirectory(directory.resolve("cluster"));
      UnprivilegedUser user = UnprivilegedUser.forCluster(cluster);
      user.give(cluster);
      user.letThrough(directory);
      SystemPostgres postgres = new SystemPostgres(programs, cluster, user, freePort());
      postgres.run(
          "initdb", "-D", cluster.toString(), "-U", SUPERUSER, "-A", "trust", "-E", "UTF8");
      Files.writeString(
          cluster.resolve("postgresql.auto.conf"),
          """
          port = %d
          listen_addresses = '127.0.0.1'
          unix_socket_directories = ''
          """
              .formatted(postgres.port));
      postgres.run(
          "pg_ctl", "start", "-w", "-D", cluster.toString(), "-l", cluster + "/server.log");
      return postgres;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private static Path programs() throws IOException {
    List<Path> found = List.of();
    if (Files.isDirectory(PACKAGES)) {
      try (Stream<Path> versions = Files.list(PACKAGES)) {
        found =
            versions
                .filter(path -> path.getFileName().toString().matches("[0-9]+"))
                .filter(path -> version(path) >= OLDEST)
                .filter(path -> Files.isExecutable(path.resolve("bin/postgres")))
                .sorted(Comparator.comparingInt(SystemPostgres::version))
                .map(path -> path.resolve("bin"))
                .toList();
      }
    }
    if (found.isEmpty()) {
      String message = "NOT RUN: no postgresql package is installed";
      System.err.println("\n*** " + message + " ***\n");
      if ("true".equals(System.getenv("CI"))) {
        throw new AssertionError(message);
      }
      Assumptions.abort(message);
    }
    return found.getFirst();
  }

  private static int version(Path path) {
    return Integer.parseInt(path.getFileName().toString());
  }

  /** The major version of the server. */
  public int version() {
    return version(programs.resolve("..").normalize());
  }

  /** Runs SQL in the maintenance database as the superuser. */
  public void sqlAsSuperuser(String... statements) {
    try (Connection connection =
            DriverManager.getConnection(address("postgres", SUPERUSER).url(), SUPERUSER, "any");
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  public Db.Address address(String database, String role) {
    return new Db.Address("jdbc:postgresql://127.0.0.1:" + port + "/" + database, role, "any");
  }

  /** Runs one of the server's programs and returns its output; fails if the program fails. */
  public String run(String name, String... arguments) {
    List<String> command = new ArrayList<>(user.prefix());
    command.add(programs.resolve(name).toString());
    command.addAll(List.of(arguments));
    try {
      Path output = Files.createTempFile("system-postgres", ".out");
      Process process =
          new ProcessBuilder(command)
              .directory(cluster.toFile())
              .redirectErrorStream(true)
              .redirectOutput(
                  output.toFile()) // no pipe: the server that pg_ctl starts would hold it open
              .start();
      await(name).atMost(TIMEOUT).until(() -> !process.isAlive());
      String text = Files.readString(output, StandardCharsets.UTF_8);
      Files.delete(output);
      if (process.exitValue() != 0) {
        throw new AssertionError(name + " exited with " + process.exitValue() + ": " + text);
      }
      return text;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  @Override
  public void close() {
    run("pg_ctl", "stop", "-m", "immediate", "-D", cluster.toString());
  }
}
