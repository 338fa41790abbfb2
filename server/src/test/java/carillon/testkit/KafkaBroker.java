package carillon.testkit;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.jspecify.annotations.Nullable;

/**
 * A real Kafka broker in its own process, which can be killed and restarted on the same port with
 * its data. It does not create topics automatically.
 */
public final class KafkaBroker implements AutoCloseable {

  private static final Duration TIMEOUT = Duration.ofSeconds(40);

  private final Path directory;
  private final int port = freePort();
  private final int controllerPort = freePort();
  private final Map<String, String> settings;
  private @Nullable Process process;

  private KafkaBroker(Path directory, Map<String, String> settings) {
    this.directory = directory;
    this.settings = settings;
  }

  /** Starts a broker and returns when it is up. */
  public static KafkaBroker start(Path directory) {
    return start(directory, Map.of());
  }

  /**
   * Starts a broker with additional settings.
   *
   * @param settings additional broker settings; with {@code secure.port}, a listener named SECURE
   *     is added on that port
   */
  public static KafkaBroker start(Path directory, Map<String, String> settings) {
    KafkaBroker broker = new KafkaBroker(directory, settings);
    broker.restart();
    return broker;
  }

  /** The value for {@code bootstrap.servers}. */
  public String servers() {
    return "127.0.0.1:" + port;
  }

  /** Starts the broker again on the same port and data, after a kill. */
  public void restart() {
    launch();
    awaitUp();
  }

  /** Starts the broker without waiting until it is up. */
  public void launch() {
    try {
      Path file = directory.resolve("broker.properties");
      try (Writer writer = Files.newBufferedWriter(file)) {
        properties().store(writer, null);
      }
      process =
          new ProcessBuilder(
                  ProcessHandle.current().info().command().orElseThrow(),
                  "-Xmx384m",
                  "-XX:+UseSerialGC",
                  "-XX:TieredStopAtLevel=1",
                  "-cp",
                  System.getProperty("java.class.path"),
                  KafkaMain.class.getName(),
                  file.toString())
              .redirectOutput(directory.resolve("broker.out").toFile())
              .redirectError(directory.resolve("broker.err").toFile())
              .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void awaitUp() {
    await("Kafka")
        .atMost(TIMEOUT)
        .pollInterval(Duration.ofMillis(20))
        .until(() -> isUp() || !process().isAlive());
    if (!process().isAlive()) {
      throw new AssertionError(read("broker.err"));
    }
  }

  private boolean isUp() {
    return read("broker.out").contains("up");
  }

  private String read(String file) {
    try {
      return Files.readString(directory.resolve(file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Properties properties() {
    String secure = settings.get("secure.port");
    String listener = secure == null ? "" : ",SECURE://localhost:" + secure;
    Properties all = new Properties();
    all.putAll(
        Map.of(
            "process.roles", "broker,controller",
            "node.id", "1",
            "controller.quorum.voters", "1@127.0.0.1:" + controllerPort,
            "controller.listener.names", "CONTROLLER",
            "listeners",
                "PLAINTEXT://127.0.0.1:"
                    + port
                    + ",CONTROLLER://127.0.0.1:"
                    + controllerPort
                    + listener,
            "advertised.listeners", "PLAINTEXT://127.0.0.1:" + port + listener,
            "listener.security.protocol.map",
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
            "log.dirs", directory.resolve("log").toString(),
            "auto.create.topics.enable", "false",
            "group.initial.rebalance.delay.ms", "0"));
    for (String topic : List.of("offsets.topic", "transaction.state.log")) {
      all.put(topic + ".replication.factor", "1");
      all.put(topic + ".num.partitions", "1");
    }
    all.put("transaction.state.log.min.isr", "1");
    settings.forEach(
        (key, value) -> {
          if (!key.equals("secure.port")) {
            all.put(key, value);
          }
        });
    return all;
  }

  public Admin admin() {
    return Admin.create(Map.of("bootstrap.servers", servers()));
  }

  public void createTopic(String name, int partitions) {
    try (Admin admin = admin()) {
      admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Kills the broker with SIGKILL and returns when its process has ended. */
  public void kill9() {
    process().destroyForcibly();
    await("the end of Kafka").atMost(TIMEOUT).until(() -> !process().isAlive());
  }

  private Process process() {
    if (process == null) {
      throw new IllegalStateException("not started");
    }
    return process;
  }

  public static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    kill9();
  }
}
