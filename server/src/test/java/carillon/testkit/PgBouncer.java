package carillon.testkit;

import static org.awaitility.Awaitility.await;

import carillon.app.postgres.UnprivilegedUser;
import carillon.store.db.Db;
import carillon.store.db.Pooler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * A real PgBouncer in transaction mode, in front of a test server. Where PgBouncer is not
 * installed, its tests are skipped with a message; in CI they fail.
 */
public final class PgBouncer implements AutoCloseable {

  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final List<Path> PLACES =
      Stream.concat(
              Stream.of("/usr/sbin", "/opt/homebrew/bin"),
              Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1)))
          .map(directory -> Path.of(directory, "pgbouncer"))
          .toList();

  private final Process process;
  private final Db.Address server;
  private final int port;

  private PgBouncer(Process process, Db.Address server, int port) {
    this.process = process;
    this.server = server;
    this.port = port;
  }

  /**
   * Starts a pooler and returns when it accepts connections.
   *
   * @param server the server behind it
   * @param sessions number of server connections for each user and database
   */
  public static PgBouncer start(Path directory, Db.Address server, int sessions) {
    Path program = PLACES.stream().filter(Files::isExecutable).findFirst().orElse(null);
    if (program == null) {
      String message =
          "NOT RUN: pgbouncer is not installed, so connections through it are untested";
      System.err.println("\n*** " + message + " ***\n");
      if ("true".equals(System.getenv("CI"))) {
        throw new AssertionError(message);
      }
      Assumptions.abort(message);
    }
    try {
      int port = freePort();
      Files.writeString(
          directory.resolve("users.txt"),
          "\"%s\" \"%s\"%n".formatted(server.user(), server.password()));
      Files.writeString(directory.resolve("pgbouncer.ini"), settings(server, port, sessions));
      UnprivilegedUser user = UnprivilegedUser.forCluster(directory);
      user.give(directory);
      user.letThrough(directory);
      List<String> command = new ArrayList<>(user.prefix());
      command.addAll(List.of(program.toString(), "pgbouncer.ini"));
      Process process =
          new ProcessBuilder(command)
              .directory(directory.toFile())
              .redirectErrorStream(true)
              .redirectOutput(directory.resolve("pgbouncer.out").toFile())
              .start();
      PgBouncer pooler = new PgBouncer(process, server, port);
      await("PgBouncer").atMost(TIMEOUT).until(() -> pooler.isUp() || !process.isAlive());
      if (!process.isAlive()) {
        throw new AssertionError(Files.readString(directory.resolve("pgbouncer.out")));
      }
      return pooler;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private static String settings(Db.Address server, int port, int sessions) {
    return """
    [databases]
    * = host=127.0.0.1 port=%s
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = %d
    unix_socket_dir =
    auth_type = scram-sha-256
    auth_file = users.txt
    pool_mode = transaction
    default_pool_size = %d
    max_client_conn = 200
    server_login_retry = 1
    """
        .formatted(server.url().replaceAll(".*:(\\d+)/.*", "$1"), port, sessions);
  }

  private boolean isUp() {
    try (Socket _ = new Socket(InetAddress.ofLiteral("127.0.0.1"), port)) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  /** The address of the same database through the pooler. */
  public Db.Address address() {
    return new Db.Address(
        server.url().replaceFirst("//[^/]*/", "//127.0.0.1:" + port + "/"),
        server.user(),
        server.password(),
        Pooler.TRANSACTION);
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }
}
