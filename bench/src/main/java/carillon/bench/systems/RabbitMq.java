package carillon.bench.systems;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A RabbitMQ server for the benchmark with one quorum queue, and the plain producer that Carillon
 * is compared with.
 */
public final class RabbitMq implements AutoCloseable {

  public static final String QUEUE = "bench";

  private static final Path PROGRAM = Path.of("/usr/lib/rabbitmq/bin/rabbitmq-server");
  private static final int START_TRIES = 600;
  private static final int BATCH = 1_000;
  private static final int PERSISTENT = 2;

  private final int port;
  private final Process epmd;
  private final Process server;

  private RabbitMq(int port, Process epmd, Process server) {
    this.port = port;
    this.epmd = epmd;
    this.server = server;
  }

  /** Returns why it cannot run, or empty if it can. */
  public static Optional<String> missing() {
    return Files.isExecutable(PROGRAM)
        ? Optional.empty()
        : Optional.of("rabbitmq-server is not installed; tools/packages installs it");
  }

  public static RabbitMq start(Path directory) throws IOException, InterruptedException {
    Path data = Files.createDirectories(directory.resolve("rabbitmq-" + System.nanoTime()));
    int port = Postgres.freePort();
    Files.writeString(data.resolve("plugins"), "[].");
    Files.writeString(
        data.resolve("rabbitmq.conf"),
        "listeners.tcp.default = 127.0.0.1:%d\ndisk_free_limit.absolute = 1MB\n".formatted(port));
    Map<String, String> environment =
        Map.ofEntries(
            Map.entry("HOME", data.toString()),
            Map.entry("ERL_EPMD_PORT", "" + Postgres.freePort()),
            Map.entry("ERL_EPMD_ADDRESS", "127.0.0.1"),
            Map.entry("RABBITMQ_DIST_PORT", "" + Postgres.freePort()),
            Map.entry("RABBITMQ_NODENAME", "bench" + port + "@localhost"),
            Map.entry("RABBITMQ_CONFIG_FILE", data.resolve("rabbitmq").toString()),
            Map.entry("RABBITMQ_CONF_ENV_FILE", "/dev/null"),
            Map.entry("RABBITMQ_MNESIA_BASE", data.resolve("mnesia").toString()),
            Map.entry("RABBITMQ_LOG_BASE", data.resolve("log").toString()),
            Map.entry("RABBITMQ_ENABLED_PLUGINS_FILE", data.resolve("plugins").toString()),
            Map.entry("RABBITMQ_PID_FILE", data.resolve("pid").toString()));
    Process epmd = run(data, environment, "epmd");
    var rabbit = new RabbitMq(port, epmd, run(data, environment, PROGRAM.toString()));
    rabbit.declareQueue();
    return rabbit;
  }

  private static Process run(Path data, Map<String, String> environment, String program)
      throws IOException {
    var builder =
        new ProcessBuilder(program)
            .directory(data.toFile())
            .redirectErrorStream(true)
            .redirectOutput(data.resolve(Path.of(program).getFileName() + ".out").toFile());
    builder.environment().putAll(environment);
    return builder.start();
  }

  private void declareQueue() throws IOException, InterruptedException {
    for (int i = 0; ; i++) {
      try (Connection connection = connect();
          Channel channel = connection.createChannel()) {
        channel.queueDeclare(QUEUE, true, false, false, Map.of("x-queue-type", "quorum"));
        return;
      } catch (IOException | TimeoutException e) {
        if (i == START_TRIES || !server.isAlive()) {
          close();
          throw new IOException("rabbitmq-server did not start", e);
        }
        TimeUnit.MILLISECONDS.sleep(50);
      }
    }
  }

  private Connection connect() throws IOException, TimeoutException {
    var factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(port);
    return factory.newConnection();
  }

  /** The server options that configure a node to use it. */
  public List<String> options() {
    return List.of("--rabbitmq", "main=amqp://guest:guest@127.0.0.1:" + port);
  }

  /** Publishes payloads with confirms, a thousand at a time, and returns messages per second. */
  public double plainRate(int messages) throws IOException, InterruptedException {
    byte[] payload = Tasks.payload().getBytes(StandardCharsets.UTF_8);
    try (Connection connection = connect();
        Channel channel = connection.createChannel()) {
      channel.confirmSelect();
      long began = System.nanoTime();
      for (int i = 1; i <= messages; i++) {
        var properties =
            new AMQP.BasicProperties.Builder()
                .deliveryMode(PERSISTENT)
                .contentType("application/json")
                .messageId(UUID.randomUUID().toString())
                .build();
        channel.basicPublish("", QUEUE, true, properties, payload);
        if (i % BATCH == 0 || i == messages) {
          channel.waitForConfirmsOrDie();
        }
      }
      double seconds = (System.nanoTime() - began) / 1e9;
      channel.queuePurge(QUEUE);
      return messages / seconds;
    } catch (TimeoutException e) {
      throw new IOException(e);
    }
  }

  @Override
  public void close() {
    server.descendants().forEach(ProcessHandle::destroyForcibly);
    server.destroyForcibly();
    epmd.destroyForcibly();
  }
}
