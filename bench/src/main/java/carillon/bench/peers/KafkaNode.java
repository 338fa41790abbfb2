package carillon.bench.peers;

import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/** One Kafka broker with default settings, including automatic topics; stops at end of input. */
public final class KafkaNode {

  private KafkaNode() {}

  /** Arguments: a directory and two free ports. */
  public static void main(String... arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    String broker = "127.0.0.1:" + arguments[1];
    String controller = "127.0.0.1:" + arguments[2];
    Properties settings = new Properties();
    settings.putAll(
        Map.of(
            "process.roles", "broker,controller",
            "node.id", "1",
            "controller.quorum.voters", "1@" + controller,
            "controller.listener.names", "CONTROLLER",
            "listeners", "PLAINTEXT://" + broker + ",CONTROLLER://" + controller,
            "advertised.listeners", "PLAINTEXT://" + broker,
            "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs", directory.toString(),
            "offsets.topic.replication.factor", "1",
            "num.partitions", "3"));
    new Formatter()
        .setClusterId(Uuid.randomUuid().toString())
        .setNodeId(1)
        .setControllerListenerName("CONTROLLER")
        .setMetadataLogDirectory(directory.toString())
        .addDirectory(directory.toString())
        .setPrintStream(System.err)
        .run();
    new KafkaRaftServer(KafkaConfig.fromProps(settings, false), Time.SYSTEM).startup();
    System.out.println("up");
    while (System.in.read() >= 0) {
      // wait for end of input
    }
    Runtime.getRuntime().halt(0);
  }
}
