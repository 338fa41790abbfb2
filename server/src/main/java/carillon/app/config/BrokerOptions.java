package carillon.app.config;

import carillon.cli.CommandFailed;
import carillon.cli.Text;
import carillon.delivery.kafka.KafkaCluster;
import carillon.delivery.rabbitmq.RabbitCluster;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/** Reads how the brokers that the operator registers are reached. */
final class BrokerOptions {

  private final Path directory;

  /**
   * @param directory which relative paths start from
   */
  BrokerOptions(Path directory) {
    this.directory = directory;
  }

  List<KafkaCluster> kafka(List<NamedValue> values) {
    return values.stream().map(this::kafka).toList();
  }

  private KafkaCluster kafka(NamedValue value) {
    Map<String, String> settings =
        value.isFile() ? properties(value) : Map.of(KafkaCluster.SERVERS, value.text());
    try {
      return KafkaCluster.of(value.name(), settings);
    } catch (IllegalArgumentException e) {
      throw value.refused(String.valueOf(e.getMessage()));
    }
  }

  List<RabbitCluster> rabbitmq(List<NamedValue> values) {
    return values.stream().map(this::rabbitmq).toList();
  }

  private RabbitCluster rabbitmq(NamedValue value) {
    Map<String, String> settings =
        value.isFile() ? properties(value) : Map.of(RabbitSettings.URI, value.text());
    try {
      return new RabbitSettings(directory).read(value.name(), settings);
    } catch (IllegalArgumentException e) {
      throw value.refused(String.valueOf(e.getMessage()));
    }
  }

  /** The contents of the file that a value names. */
  Map<String, String> properties(NamedValue value) {
    Path file = directory.resolve(value.text().substring(1));
    var read = new Properties();
    try {
      read.load(new StringReader(Files.readString(file)));
    } catch (IOException e) {
      throw value.refused(
          "the file "
              + Text.visible(file.toString())
              + " cannot be read: "
              + CommandFailed.reason(e));
    } catch (IllegalArgumentException _) {
      throw value.refused(
          "the file " + Text.visible(file.toString()) + " is not a properties file");
    }
    Map<String, String> settings = new TreeMap<>();
    read.stringPropertyNames().forEach(key -> settings.put(key, read.getProperty(key).strip()));
    return settings;
  }
}
