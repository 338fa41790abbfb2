package carillon.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.cli.CommandFailed;
import carillon.delivery.kafka.KafkaCluster;
import carillon.delivery.rabbitmq.RabbitCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Valid and invalid values of the options {@code kafka} and {@code rabbitmq}. */
class BrokerOptionsTest {

  @TempDir Path directory;

  private final Map<String, String> environment = new HashMap<>();

  private Config.Brokers load(Map<String, String> flags) {
    return new ConfigLoader(environment, directory).load(flags).brokers();
  }

  private List<KafkaCluster> kafka(String values) {
    return load(Map.of("kafka", values)).kafka();
  }

  private void file(String name, String text) throws IOException {
    Files.writeString(directory.resolve(name), text);
  }

  @Test
  void several_brokers_are_separated_by_spaces() {
    environment.put("CARILLON_KAFKA", "main=a:9092,b:9092  other=[::1]:9093");
    environment.put("CARILLON_RABBITMQ", "main=amqp://u:p@h/v");

    Config.Brokers brokers = load(Map.of());

    assertThat(brokers.kafka()).extracting(KafkaCluster::name).asString().contains("main", "other");
    assertThat(brokers.kafka().getFirst().settings())
        .containsExactly(Map.entry("bootstrap.servers", "a:9092,b:9092"));
    assertThat(brokers.rabbitmq()).extracting(RabbitCluster::name).containsExactly("main");
  }

  @Test
  void the_configuration_file_may_list_brokers() throws IOException {
    file("carillon.yaml", "kafka:\n- main=a:9092,b:9092\n- other=c:1\nrabbitmq: main=amqp://h\n");

    assertThat(load(Map.of()).kafka()).hasSize(2);
    assertThat(load(Map.of()).rabbitmq()).hasSize(1);
  }

  @Test
  void client_settings_from_a_file_are_used_and_never_shown() throws IOException {
    file(
        "main.properties",
        """
        bootstrap.servers = kafka-1:9093, kafka-2:9093
        security.protocol = SASL_SSL
        sasl.mechanism = SCRAM-SHA-512
        sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required \
          username="carillon" password="s3cret";
        compression.type = lz4
        """);

    List<KafkaCluster> clusters = kafka("main=@main.properties");

    assertThat(clusters.getFirst().settings())
        .containsEntry("sasl.mechanism", "SCRAM-SHA-512")
        .containsEntry("compression.type", "lz4");
    assertThat(clusters.toString()).doesNotContain("s3cret").doesNotContain("kafka-1");
    assertThat(load(Map.of("rabbitmq", "main=amqp://u:s3cret@h/")).toString())
        .doesNotContain("s3cret");
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "s3cret, NAME=",
        "Main=h:1, small letters",
        "a=h:1 a=h:2, twice",
        "a=h, HOST:PORT",
        "a=h:70000, HOST:PORT",
        "a=, HOST:PORT",
        "a=@none, no such file",
      })
  void invalid_values_are_rejected(String value, String rule) {
    assertThatThrownBy(() -> kafka(value))
        .isInstanceOf(CommandFailed.class)
        .hasMessageStartingWith("--kafka")
        .hasMessageContaining(rule)
        .message()
        .doesNotContain("s3cret")
        .doesNotContain("\n");
  }

  @ParameterizedTest
  @CsvSource({
    "acks=1, acks is set by Carillon",
    "transactional.id=x, transactional.id is set by Carillon",
    "interceptor.classes=x, interceptor.classes is set by Carillon",
    "compresion.type=lz4, is not a setting",
    "buffer.memory=much, buffer.memory",
    "compression.type=best, compression.type",
    "ssl.truststore.location=/none, no such file",
    "security.protocol=SSH, security.protocol",
    "linger.ms=3001, linger.ms",
    "buffer.memory=100000, buffer.memory must be",
    "client.id=\\u00, not a properties file",
  })
  void unsupported_file_keys_are_rejected_by_name(String line, String rule) throws IOException {
    file("f", "bootstrap.servers=h:1\n" + line + "\n");

    assertThatThrownBy(() -> kafka("main=@f"))
        .isInstanceOf(CommandFailed.class)
        .hasMessageStartingWith("--kafka main: ")
        .hasMessageContaining(rule)
        .message()
        .doesNotContain("\n");
  }

  @Test
  void an_invalid_login_is_rejected_without_showing_it() throws IOException {
    file(
        "f",
        """
        bootstrap.servers=h:1
        security.protocol=SASL_SSL
        sasl.mechanism=PLAIN
        sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required s3cret
        """);

    assertThatThrownBy(() -> kafka("main=@f"))
        .isInstanceOf(CommandFailed.class)
        .hasMessageContaining("sasl.jaas.config cannot be used")
        .message()
        .doesNotContain("s3cret");
  }

  @Test
  void a_file_without_servers_is_rejected() throws IOException {
    file("f", "client.id=x\n");

    assertThatThrownBy(() -> kafka("main=@f")).hasMessageContaining("bootstrap.servers is missing");
  }
}
