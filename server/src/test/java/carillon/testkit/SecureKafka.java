package carillon.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** Settings for a {@link KafkaBroker} listener with TLS and a password. */
public record SecureKafka(Path directory, int port) {

  private static final String LOGIN =
      "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"%s\""
          + " password=\"s3cret\"%s;";

  /** Creates a certificate, and settings files for broker and client. */
  public static SecureKafka in(Path directory) {
    SecureKafka secure = new SecureKafka(directory, KafkaBroker.freePort());
    TestCertificates.selfSigned(directory, "localhost");
    secure.write();
    return secure;
  }

  private void write() {
    try (InputStream in = Files.newInputStream(directory.resolve("localhost.p12"))) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(in, "changeit".toCharArray());
      Base64.Encoder base64 = Base64.getMimeEncoder(64, new byte[] {'\n'});
      Files.writeString(
          directory.resolve("trusted.pem"),
          "-----BEGIN CERTIFICATE-----\n"
              + base64.encodeToString(store.getCertificate("it").getEncoded())
              + "\n-----END CERTIFICATE-----\n");
      Files.writeString(
          clientSettings(),
          """
          bootstrap.servers = localhost:%d
          security.protocol = SASL_SSL
          sasl.mechanism = PLAIN
          sasl.jaas.config = %s
          ssl.truststore.type = PEM
          ssl.truststore.location = %s
          """
              .formatted(port, LOGIN.formatted("carillon", ""), directory.resolve("trusted.pem")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The client's settings file, for {@code --kafka @FILE}. */
  public Path clientSettings() {
    return directory.resolve("client.properties");
  }

  public Map<String, String> brokerSettings() {
    return Map.of(
        "secure.port", Integer.toString(port),
        "listener.name.secure.sasl.enabled.mechanisms", "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config",
            LOGIN.formatted("broker", " user_carillon=\"s3cret\""),
        "ssl.keystore.location", directory.resolve("localhost.p12").toString(),
        "ssl.keystore.type", "PKCS12",
        "ssl.keystore.password", "changeit",
        "ssl.key.password", "changeit",
        "authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users", "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found", "true");
  }

  /** Denies the client's user all writes to this topic. */
  public void forbid(KafkaBroker broker, String topic) {
    try (Admin admin = broker.admin()) {
      admin
          .createAcls(
              List.of(
                  new AclBinding(
                      new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
                      new AccessControlEntry(
                          "User:carillon", "*", AclOperation.WRITE, AclPermissionType.DENY))))
          .all()
          .get();
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
