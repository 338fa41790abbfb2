package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.testkit.RawReceiver;
import carillon.testkit.TestCertificates;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TlsTest {

  static final Failure NO_TLS = Failure.of(FailureKind.TLS, "TLS handshake failed");

  @TempDir static Path directory;
  static SSLContext hooks;

  @BeforeAll
  static void createCertificates() {
    hooks = TestCertificates.selfSigned(directory, "hooks.example");
  }

  @Test
  void a_valid_certificate_is_accepted_and_the_connection_reused() throws IOException {
    try (var receiver = serving(hooks);
        var deliverer = trusting(hooks)) {
      for (int i = 0; i < 3; i++) {
        assertThat(at("hooks.example", receiver).by(deliverer))
            .isEqualTo(new DeliveryResult.Accepted(200, null));
      }

      assertThat(receiver.connections()).isEqualTo(1);
      assertThat(receiver.requests().getFirst().header("host"))
          .isEqualTo("hooks.example:" + receiver.port());
    }
  }

  @Test
  void checking_an_idle_connection_does_not_break_it() throws IOException {
    try (var receiver = serving(hooks);
        var deliverer = trusting(hooks)) {
      for (int i = 0; i < 3; i++) {
        assertThat(at("hooks.example", receiver).by(deliverer))
            .isEqualTo(new DeliveryResult.Accepted(200, null));
        await().pollDelay(Duration.ofMillis(150)).until(() -> true);
      }

      assertThat(receiver.connections()).isEqualTo(1);
    }
  }

  @Test
  void a_certificate_for_another_name_is_rejected() throws IOException {
    try (var receiver = serving(hooks);
        var deliverer = trusting(hooks)) {
      assertThat(at("other.example", receiver).failureBy(deliverer)).isEqualTo(NO_TLS);
      assertThat(receiver.requests()).isEmpty();
    }
  }

  @Test
  void an_untrusted_certificate_is_rejected() throws IOException {
    try (var receiver = serving(hooks);
        var deliverer = trusting(null)) {
      assertThat(at("hooks.example", receiver).failureBy(deliverer)).isEqualTo(NO_TLS);
      assertThat(receiver.requests()).isEmpty();
    }
  }

  @Test
  void tls_on_a_plain_port_fails() throws IOException {
    try (var receiver = RawReceiver.with(wire -> wire.send("HTTP/1.1 400 Bad\r\n\r\n"));
        var deliverer = trusting(hooks)) {
      assertThat(at("hooks.example", receiver).failureBy(deliverer)).isEqualTo(NO_TLS);
    }
  }

  @Test
  void plain_http_on_a_tls_port_fails() throws IOException {
    try (var receiver = serving(hooks);
        var deliverer = trusting(hooks)) {
      assertThat(Attempt.at(receiver.url()).failureKindBy(deliverer))
          .isIn(FailureKind.PROTOCOL, FailureKind.BROKEN);
    }
  }

  @Test
  void the_deadline_covers_the_handshake() throws IOException {
    try (var receiver = RawReceiver.with(RawReceiver.Wire::awaitClose);
        var deliverer = trusting(hooks)) {
      assertThat(at("hooks.example", receiver).failureKindBy(deliverer))
          .isEqualTo(FailureKind.CONNECT_TIMEOUT);
    }
  }

  @Test
  void the_deadline_covers_a_target_that_stops_reading_within_tls() throws IOException {
    try (var receiver =
            RawReceiver.overTls(
                hooks,
                wire -> {
                  wire.send("HTTP/1.1 bad\r\n\r\n");
                  wire.ignore();
                });
        var deliverer = trusting(hooks)) {
      long start = System.nanoTime();

      assertThat(
              at("hooks.example", receiver)
                  .payload("\"" + "x".repeat(32 << 20) + "\"")
                  .failureKindBy(deliverer))
          .isEqualTo(FailureKind.TIMEOUT);

      assertThat(System.nanoTime() - start).isLessThan(Attempt.TIMEOUT.plusSeconds(1).toNanos());
    }
  }

  private static RawReceiver serving(SSLContext tls) {
    return RawReceiver.overTls(tls, wire -> wire.respondToAll(HttpRequestTest.OK));
  }

  private static HttpDeliverer trusting(@Nullable SSLContext tls) {
    return new HttpDeliverer(
        new HttpTargetRules(AddressRules.PUBLIC_ONLY.withLoopback()),
        InstantSource.fixed(Attempt.NOW),
        "test",
        Attempt::everythingIsLocal,
        tls);
  }

  private static Attempt at(String host, RawReceiver receiver) {
    return Attempt.at("https://" + host + ":" + receiver.port() + "/");
  }
}
