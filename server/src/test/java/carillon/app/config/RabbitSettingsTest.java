package carillon.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.cli.CommandFailed;
import carillon.delivery.rabbitmq.RabbitCluster;
import carillon.testkit.TestCertificates;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Valid and invalid values of the option {@code rabbitmq}. */
class RabbitSettingsTest {

  @TempDir Path directory;

  private RabbitCluster read(String value) {
    return new ConfigLoader(Map.of(), directory)
        .load(Map.of("rabbitmq", "main=" + value))
        .brokers()
        .rabbitmq()
        .getFirst();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "amqp://h|h:5672|guest|guest|/",
        "amqp://u:p@h/|h:5672|u|p|/",
        "amqp://u:p%40%2F+@h:1,[::1]:2/a%2Fb|h:1, [::1]:2|u|p@/+|a/b",
        "amqp://u:@h/v|h:5672|u|guest|v",
        "amqps://u:p@h,i:3/v|h:5671, i:3|u|p|v",
      })
  void a_uri_has_address_and_credentials(
      String uri, String hosts, String user, String password, String virtualHost) {
    RabbitCluster cluster = read(uri);

    assertThat(cluster.hosts()).hasToString("[" + hosts + "]");
    assertThat(cluster.user()).isEqualTo(user);
    assertThat(cluster.password()).isEqualTo(password);
    assertThat(cluster.virtualHost()).isEqualTo(virtualHost);
    assertThat(cluster.tls() != null).isEqualTo(uri.startsWith("amqps"));
  }

  @ParameterizedTest
  @CsvSource({
    "h:5672, is not amqp",
    "http://u:s3cret@h, is not amqp",
    "amqp://u:s3cret@, is not amqp",
    "amqp://u:s3cret@h/a/b, is not amqp",
    "amqp://u:s3cret@h:70000, from 1 to 65535",
    "amqp://u:s3cret%zz@h, percent sign",
    "@none, cannot be read",
  })
  void invalid_values_are_rejected_without_showing_them(String value, String rule) {
    assertThatThrownBy(() -> read(value))
        .isInstanceOf(CommandFailed.class)
        .hasMessageStartingWith("--rabbitmq main: ")
        .hasMessageContaining(rule)
        .message()
        .doesNotContain("s3cret")
        .doesNotContain("\n");
  }

  @ParameterizedTest
  @CsvSource({
    "uri=amqps://h\\ntls.trust=x, unknown key",
    "tls.truststore=x, is not amqp",
    "uri=amqp://h\\ntls.truststore=x, for amqps",
    "uri=amqps://h\\ntls.truststore=none.p12, tls.truststore: the file cannot be read",
  })
  void unsupported_file_keys_are_rejected(String text, String rule) throws IOException {
    Files.writeString(directory.resolve("f"), text.replace("\\n", "\n"));

    assertThatThrownBy(() -> read("@f"))
        .isInstanceOf(CommandFailed.class)
        .hasMessageContaining(rule)
        .message()
        .doesNotContain("\n");
  }

  @Test
  void a_truststore_can_be_configured() throws IOException {
    TestCertificates.pemFor(directory, "localhost");
    String text = "uri=amqps://h\ntls.truststore=localhost-trust.p12\ntls.truststore.password=";
    Files.writeString(directory.resolve("f"), text + TestCertificates.PASSWORD);
    Files.writeString(directory.resolve("g"), text + "wrong");

    assertThat(read("@f").tls()).isNotNull();
    assertThatThrownBy(() -> read("@g")).hasMessageContaining("tls.truststore");
  }
}
