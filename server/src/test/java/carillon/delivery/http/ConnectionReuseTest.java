package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.task.DeliveryResult;
import carillon.testkit.RawReceiver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Iterator;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConnectionReuseTest {

  final HttpDeliverer deliverer = Attempt.deliverer();

  @AfterEach
  void close() {
    deliverer.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
      })
  void a_tenant_reuses_its_connection(String response) throws IOException {
    try (var receiver = RawReceiver.responding(response)) {
      for (int i = 0; i < 5; i++) {
        Attempt.at(receiver.url()).by(deliverer);
      }

      assertThat(receiver.requests()).hasSize(5);
      assertThat(receiver.connections()).isEqualTo(1);
    }
  }

  @Test
  void tenants_never_share_a_connection() throws IOException {
    try (var receiver = RawReceiver.responding(HttpRequestTest.OK)) {
      for (int i = 0; i < 3; i++) {
        Attempt.at(receiver.url()).tenant(1).by(deliverer);
        Attempt.at(receiver.url()).tenant(2).by(deliverer);
      }

      assertThat(receiver.requests())
          .extracting(RawReceiver.Request::connection)
          .containsExactly(0, 1, 0, 1, 0, 1);
    }
  }

  @Test
  void names_and_addresses_never_share_a_connection() throws IOException {
    try (var receiver = RawReceiver.at(anywhere(), wire -> wire.respondToAll(HttpRequestTest.OK))) {
      Iterator<String> lookups =
          Stream.of("127.0.0.1", "127.0.0.1", "127.0.0.3", "127.0.0.1").iterator();
      try (var flipping =
          Attempt.deliverer(host -> new InetAddress[] {InetAddress.ofLiteral(lookups.next())})) {
        Attempt.at("http://a.example:" + receiver.port() + "/").by(flipping);
        Attempt.at("http://b.example:" + receiver.port() + "/").by(flipping);
        Attempt.at("http://a.example:" + receiver.port() + "/").by(flipping);
        Attempt.at("http://a.example:" + receiver.port() + "/").by(flipping);
      }

      assertThat(receiver.requests())
          .extracting(RawReceiver.Request::connection)
          .containsExactly(0, 1, 2, 0);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        // An unrequested response, which must not be taken for the next one.
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 410 Gone\r\n\r\n",
        "HTTP/1.1 204 OK\r\nContent-Length: 3\r\n\r\nabc"
      })
  void a_connection_in_an_unknown_state_is_not_reused(String response) throws IOException {
    try (var receiver = RawReceiver.responding(response)) {
      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isInstanceOf(DeliveryResult.Accepted.class);
      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isInstanceOf(DeliveryResult.Accepted.class);

      assertThat(receiver.connections()).isEqualTo(2);
    }
  }

  @Test
  void a_connection_with_an_unread_body_is_not_reused() throws IOException {
    String response = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + "x".repeat(100_000);
    try (var receiver = RawReceiver.responding(response)) {
      Attempt.at(receiver.url()).by(deliverer);
      Attempt.at(receiver.url()).by(deliverer);

      assertThat(receiver.connections()).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "HTTP/1.1 408 Timeout\r\n\r\n"})
  void a_connection_closed_while_idle_costs_no_attempt(String beforeClose) throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send(HttpRequestTest.OK);
              wire.send(beforeClose);
            })) {
      Attempt.at(receiver.url()).by(deliverer);
      // Longer than a connection is trusted without a check.
      await().pollDelay(Duration.ofMillis(150)).until(() -> true);

      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isEqualTo(new DeliveryResult.Accepted(200, null));
      assertThat(receiver.connections()).isEqualTo(2);
    }
  }

  @Test
  void concurrent_attempts_use_separate_connections() throws IOException {
    try (var receiver = RawReceiver.responding(HttpRequestTest.OK)) {
      var running =
          Stream.generate(() -> Attempt.at(receiver.url()).timeout(Duration.ofSeconds(10)))
              .limit(100)
              .map(attempt -> attempt.startBy(deliverer))
              .toList();

      assertThat(running)
          .allMatch(it -> it.result().equals(new DeliveryResult.Accepted(200, null)));
      assertThat(receiver.requests()).hasSize(100);
    }
  }

  private static InetSocketAddress anywhere() {
    return new InetSocketAddress(InetAddress.ofLiteral("0.0.0.0"), 0);
  }
}
