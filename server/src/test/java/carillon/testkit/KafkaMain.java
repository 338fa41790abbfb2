package carillon.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/** The process of a {@link KafkaBroker}: one node that is both broker and controller. */
final class KafkaMain {

  private KafkaMain() {}

  /** Takes the path of a settings file; exits when its standard input is closed. */
  public static void main(String... arguments) throws Exception {
    Properties settings = new Properties();
    try (InputStream file = Files.newInputStream(Path.of(arguments[0]))) {
      settings.load(file);
    }
    format(settings.getProperty("log.dirs"));
    KafkaRaftServer server =
        new KafkaRaftServer(KafkaConfig.fromProps(settings, false), Time.SYSTEM);
    server.startup();
    System.out.println("up");
    awaitEnd();
    Runtime.getRuntime().halt(0);
  }

  private static void format(String directory) throws Exception {
    if (Files.exists(Path.of(directory, "meta.properties"))) {
      return;
    }
    new Formatter()
        .setClusterId(Uuid.randomUuid().toString())
        .setNodeId(1)
        .setControllerListenerName("CONTROLLER")
        .setMetadataLogDirectory(directory)
        .addDirectory(directory)
        .setPrintStream(System.err)
        .run();
  }

  private static void awaitEnd() throws IOException {
    while (System.in.read() >= 0) {
      // wait for the end of the input
    }
  }
}
