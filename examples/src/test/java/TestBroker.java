import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/** A Kafka broker in this process, with one topic. */
final class TestBroker implements AutoCloseable {

  private final int port;
  private final KafkaRaftServer server;

  TestBroker(Path directory, String topic) throws Exception {
    this.port = freePort();
    int controller = freePort();
    Properties settings = new Properties();
    settings.putAll(
        Map.of(
            "process.roles", "broker,controller",
            "node.id", "1",
            "controller.quorum.voters", "1@127.0.0.1:" + controller,
            "controller.listener.names", "CONTROLLER",
            "listeners",
                "PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d".formatted(port, controller),
            "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs", directory.toString(),
            "offsets.topic.replication.factor", "1",
            "offsets.topic.num.partitions", "1",
            "group.initial.rebalance.delay.ms", "0"));
    new Formatter()
        .setClusterId(Uuid.randomUuid().toString())
        .setNodeId(1)
        .setControllerListenerName("CONTROLLER")
        .setMetadataLogDirectory(directory.toString())
        .addDirectory(directory.toString())
        .setPrintStream(System.err)
        .run();
    server = new KafkaRaftServer(KafkaConfig.fromProps(settings, false), Time.SYSTEM);
    server.startup();
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers()))) {
      admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
    }
  }

  String servers() {
    return "127.0.0.1:" + port;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  @Override
  public void close() {
    server.shutdown();
    server.awaitShutdown();
  }
}
