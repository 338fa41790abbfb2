package carillon.testkit;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;

/**
 * A real RabbitMQ node with its own ports and data; it can be killed and restarted. Where RabbitMQ
 * is not installed, its tests are skipped with a message; in CI they fail.
 */
public final class RabbitMqServer implements AutoCloseable {

  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /** Searched before the PATH: Debian's scripts in the PATH switch to another user. */
  private static final List<Path> PLACES =
      Stream.concat(
              Stream.of("/usr/lib/rabbitmq/bin", "/opt/homebrew/sbin"),
              Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1)))
          .map(directory -> Path.of(directory, "rabbitmq-server"))
          .toList();

  private final Path program;
  private final Path directory;
  private final int port;
  private final int tlsPort;
  private final Map<String, String> environment;
  private final Process names; // epmd; started by RabbitMQ itself, it would outlive the tests
  private @Nullable Process server;

  private RabbitMqServer(Path program, Path directory) throws IOException {
    this.program = program;
    this.directory = directory;
    this.port = freePort();
    this.tlsPort = freePort();
    int namesPort = freePort();
    this.environment =
        Map.ofEntries(
            Map.entry("HOME", directory.toString()),
            Map.entry("ERL_EPMD_PORT", Integer.toString(namesPort)),
            Map.entry("ERL_EPMD_ADDRESS", "127.0.0.1"),
            Map.entry("RABBITMQ_DIST_PORT", Integer.toString(freePort())),
            Map.entry("RABBITMQ_NODENAME", "carillon" + port + "@localhost"),
            Map.entry("RABBITMQ_CONFIG_FILE", directory.resolve("rabbitmq").toString()),
            Map.entry("RABBITMQ_CONF_ENV_FILE", "/dev/null"),
            Map.entry("RABBITMQ_MNESIA_BASE", directory.resolve("mnesia").toString()),
            Map.entry("RABBITMQ_LOG_BASE", directory.resolve("log").toString()),
            Map.entry("RABBITMQ_ENABLED_PLUGINS_FILE", directory.resolve("plugins").toString()),
            Map.entry("RABBITMQ_PID_FILE", directory.resolve("pid").toString()));
    Files.writeString(directory.resolve("plugins"), "[].");
    TestCertificates.pemFor(directory, "localhost");
    Files.writeString(directory.resolve("rabbitmq.conf"), settings());
    this.names = run("names.out", "epmd");
  }

  /** Starts a node and returns when it accepts connections. */
  public static RabbitMqServer start() {
    Path program = PLACES.stream().filter(Files::isExecutable).findFirst().orElse(null);
    if (program == null) {
      String message = "NOT RUN: rabbitmq-server is not installed, so publishing to it is untested";
      System.err.println("\n*** " + message + " ***\n");
      if ("true".equals(System.getenv("CI"))) {
        throw new AssertionError(message);
      }
      Assumptions.abort(message);
    }
    try {
      var rabbit = new RabbitMqServer(program, Files.createTempDirectory("carillon-rabbitmq"));
      Runtime.getRuntime().addShutdownHook(new Thread(rabbit::end));
      rabbit.restart();
      return rabbit;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String settings() {
    return """
    listeners.tcp.default = 127.0.0.1:%d
    listeners.ssl.default = 127.0.0.1:%d
    ssl_options.cacertfile = %3$s/localhost-cert.pem
    ssl_options.certfile = %3$s/localhost-cert.pem
    ssl_options.keyfile = %3$s/localhost-key.pem
    ssl_options.verify = verify_none
    loopback_users = none
    disk_free_limit.absolute = 1MB
    log.file.level = warning
    """
        .formatted(port, tlsPort, directory);
  }

  /** Starts the node on the same ports and data, after a kill. */
  public void restart() {
    try {
      Process started = run("server.out", program.toString());
      server = started;
      await("RabbitMQ").atMost(TIMEOUT).until(() -> isUp() || !started.isAlive());
      if (!started.isAlive()) {
        throw new AssertionError(Files.readString(directory.resolve("server.out")));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Process run(String output, String... command) throws IOException {
    var builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve(output).toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("RABBITMQ_"));
    builder.environment().putAll(environment);
    return builder.start();
  }

  /** Kills the node with SIGKILL and returns when its processes have ended. */
  public void kill9() {
    Process running = server;
    if (running == null) {
      return;
    }
    List<ProcessHandle> all = new ArrayList<>(running.descendants().toList());
    all.add(running.toHandle());
    all.forEach(ProcessHandle::destroyForcibly);
    all.forEach(process -> process.onExit().join());
    server = null;
  }

  /** Flushes declarations to disk at once; RabbitMQ itself takes some seconds for it. */
  public void settle() {
    control("eval", "[dets:sync(Table) || Table <- dets:all()].");
  }

  /** Runs {@code rabbitmqctl} on the node. */
  public void control(String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(program.resolveSibling("rabbitmqctl").toString());
    command.addAll(List.of(arguments));
    try {
      Process process = run("control.out", command.toArray(String[]::new));
      if (process.waitFor() != 0) {
        throw new AssertionError(Files.readString(directory.resolve("control.out")));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  public int port() {
    return port;
  }

  /** The value for {@code --rabbitmq}. */
  public String uri() {
    return "amqp://guest:guest@127.0.0.1:" + port;
  }

  /** The value for {@code --rabbitmq} with TLS, with the host name of the certificate. */
  public String tlsUri() {
    return "amqps://guest:guest@localhost:" + tlsPort;
  }

  /** A TLS address that the certificate does not cover. */
  public String wrongTlsUri() {
    return "amqps://guest:guest@127.0.0.1:" + tlsPort;
  }

  /** A truststore with the certificate of the node. */
  public Path truststore() {
    return directory.resolve("localhost-trust.p12");
  }

  private boolean isUp() {
    try (Socket socket = new Socket(InetAddress.ofLiteral("127.0.0.1"), port)) {
      // The port may be open before the broker responds.
      socket.setSoTimeout(1_000);
      socket.getOutputStream().write("AMQP\0\0\11\1".getBytes(StandardCharsets.ISO_8859_1));
      return socket.getInputStream().read() == 1;
    } catch (IOException e) {
      return false;
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  private void end() {
    kill9();
    names.destroyForcibly();
  }

  @Override
  public void close() {
    end();
    try (Stream<Path> paths = Files.walk(directory)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException | UncheckedIOException e) {
      // A process was still exiting; the directory is temporary anyway.
    }
  }
}
