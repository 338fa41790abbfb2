package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.testkit.RawReceiver;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostileTargetTest {

  static final Duration GRACE = Duration.ofSeconds(1);

  final HttpDeliverer deliverer = Attempt.deliverer();

  @AfterEach
  void close() {
    deliverer.close();
  }

  @Test
  void a_target_that_never_responds_times_out() throws IOException {
    try (var receiver = RawReceiver.with(RawReceiver.Wire::awaitClose)) {
      assertTimesOut(Attempt.at(receiver.url()));
    }
  }

  @Test
  void a_target_that_never_reads_times_out() throws IOException {
    try (var receiver = RawReceiver.with(RawReceiver.Wire::ignore)) {
      assertTimesOut(Attempt.at(receiver.url()).payload("\"" + "x".repeat(32 << 20) + "\""));
    }
  }

  @Test
  void a_head_that_is_sent_slowly_times_out() throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.trickle("HTTP/1.1 200 OK\r\n\r\n", 150);
            })) {
      assertTimesOut(Attempt.at(receiver.url()));
    }
  }

  @Test
  void endless_interim_responses_time_out() throws IOException {
    try (var receiver =
        RawReceiver.with(wire -> wire.sendForever("HTTP/1.1 102 Processing\r\n\r\n"))) {
      assertTimesOut(Attempt.at(receiver.url()));
    }
  }

  @Test
  void the_targets_timeout_overrides_the_types() throws IOException {
    try (var receiver = RawReceiver.with(RawReceiver.Wire::awaitClose)) {
      assertTimesOut(
          Attempt.at(receiver.url()).timeout(Duration.ofMinutes(1)).targetTimeout(Attempt.TIMEOUT));
    }
  }

  @Test
  void ten_thousand_interim_responses_do_not_hide_the_final_one() throws IOException {
    String flood = "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n".repeat(10_000);

    try (var receiver = responding(flood + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) {
      assertThat(Attempt.at(receiver.url()).timeout(Duration.ofSeconds(10)).by(deliverer))
          .isEqualTo(new DeliveryResult.Accepted(200, null));
    }
  }

  @Test
  void a_success_counts_although_its_body_is_sent_slowly() throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
              wire.trickle("x".repeat(1000), 150);
            })) {
      long start = System.nanoTime();

      DeliveryResult result = Attempt.at(receiver.url()).by(deliverer);

      assertThat(result)
          .isInstanceOfSatisfying(
              DeliveryResult.Accepted.class, it -> assertThat(it.output()).matches("x{2,10}"));
      assertThat(System.nanoTime() - start).isLessThan(Attempt.TIMEOUT.plus(GRACE).toNanos());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"Content-Length: 2147483648", "X-Until: closed"})
  void a_body_of_two_gigabytes_is_not_read(String header) throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send("HTTP/1.1 200 OK\r\n" + header + "\r\n\r\n");
              wire.sendForever("x".repeat(8192));
            })) {
      assertThat(Attempt.at(receiver.url()).timeout(Duration.ofSeconds(10)).by(deliverer))
          .isEqualTo(new DeliveryResult.Accepted(200, "x".repeat(4096)));
      // 64 KiB were read; the rest is in the kernel's buffers.
      assertThat(receiver.bytesSent()).isLessThan(16 << 20);
    }
  }

  @Test
  void an_endless_chunked_body_is_not_read() throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send("HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n");
              wire.sendForever("10\r\n0123456789abcdef\r\n");
            })) {
      Failure failure =
          Attempt.at(receiver.url()).timeout(Duration.ofSeconds(10)).failureBy(deliverer);

      assertThat(failure.status()).isEqualTo(500);
      assertThat(failure.output()).hasSize(4096);
      assertThat(receiver.bytesSent()).isLessThan(16 << 20);
    }
  }

  @Test
  void a_megabyte_of_headers_is_not_read() throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send("HTTP/1.1 200 OK\r\n");
              wire.sendForever("X-Filler: " + "y".repeat(4000) + "\r\n");
            })) {
      assertThat(Attempt.at(receiver.url()).timeout(Duration.ofSeconds(10)).failureBy(deliverer))
          .isEqualTo(Failure.of(FailureKind.PROTOCOL, "response headers too large"));
      assertThat(receiver.bytesSent()).isLessThan(16 << 20);
    }
  }

  @Test
  void an_endless_header_is_not_read() throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send("HTTP/1.1 200 OK\r\nX-Long: ");
              wire.sendForever("y".repeat(8192));
            })) {
      assertThat(
              Attempt.at(receiver.url()).timeout(Duration.ofSeconds(10)).failureKindBy(deliverer))
          .isEqualTo(FailureKind.PROTOCOL);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "hello\r\n\r\n",
        "<html>it works</html>\r\n",
        "HTTP/0.9 200 OK",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "HTTP/1.1 20x OK\r\n\r\n",
        "HTTP/1.1 -200 OK\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
        "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n",
        "\u0000\u0001\u0002\r\n\r\n",
        "\u0015\u0003\u0003\u0000\u0002\u0002\n"
      })
  void invalid_http_is_reported_without_quoting_it(String garbage) throws IOException {
    try (var receiver = responding(garbage)) {
      Failure failure = Attempt.at(receiver.url()).failureBy(deliverer);

      assertThat(failure.kind()).isIn(FailureKind.PROTOCOL, FailureKind.BROKEN);
      assertThat(failure.message())
          .isIn(
              "response is not valid HTTP/1.1",
              "response headers too large",
              "connection lost before a response");
      assertThat(receiver.requests()).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nX-Nul: a\u0000b\r\n\r\n"
      })
  void a_success_counts_whatever_follows_it(String response) throws IOException {
    try (var receiver = responding(response)) {
      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isInstanceOf(DeliveryResult.Accepted.class);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nX: y\r\n"})
  void a_truncated_head_is_not_a_success(String part) throws IOException {
    try (var receiver = responding(part)) {
      assertThat(Attempt.at(receiver.url()).failureKindBy(deliverer)).isEqualTo(FailureKind.BROKEN);
    }
  }

  @Test
  void a_reset_after_the_status_line_is_a_lost_connection() throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send("HTTP/1.1 200 OK\r\n");
              wire.reset();
            })) {
      assertThat(Attempt.at(receiver.url()).failureBy(deliverer))
          .isEqualTo(Failure.of(FailureKind.BROKEN, "connection lost before a response"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST", "GET", "PUT", "DELETE"})
  void a_request_without_a_response_is_not_sent_again(String method) throws IOException {
    try (var receiver = RawReceiver.with(RawReceiver.Wire::read)) {
      assertThat(Attempt.at(receiver.url()).method(method).failureKindBy(deliverer))
          .isEqualTo(FailureKind.BROKEN);

      assertThat(receiver.requests()).hasSize(1);
      assertThat(receiver.connections()).isEqualTo(1);
    }
  }

  @Test
  void a_request_on_a_reused_connection_is_not_sent_again() throws IOException {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send(HttpRequestTest.OK);
              wire.read();
            })) {
      Attempt.at(receiver.url()).method("GET").by(deliverer);

      assertThat(Attempt.at(receiver.url()).method("GET").failureKindBy(deliverer))
          .isEqualTo(FailureKind.BROKEN);
      assertThat(receiver.requests()).hasSize(2);
      assertThat(receiver.connections()).isEqualTo(1);
    }
  }

  @Test
  void a_closed_port_is_a_connection_failure() throws IOException {
    var receiver = RawReceiver.responding(HttpRequestTest.OK);
    receiver.close();

    assertThat(Attempt.at(receiver.url()).failureBy(deliverer))
        .isEqualTo(Failure.of(FailureKind.CONNECTION, "connection failed"));
  }

  @Test
  void an_interrupt_ends_the_attempt() throws Exception {
    var arrived = new CountDownLatch(1);
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              arrived.countDown();
              wire.awaitClose();
            })) {
      var running = Attempt.at(receiver.url()).timeout(Duration.ofMinutes(1)).startBy(deliverer);
      arrived.await();

      running.thread().interrupt();

      assertThat(running.result()).isEqualTo(new DeliveryResult.Interrupted());
    }
  }

  @Test
  void an_interrupt_after_success_does_not_undo_it() throws Exception {
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send("HTTP/1.1 202 OK\r\nContent-Length: 10\r\n\r\nabc");
              wire.awaitClose();
            })) {
      var running = Attempt.at(receiver.url()).timeout(Duration.ofSeconds(2)).startBy(deliverer);
      // The whole response has been sent, and most likely read.
      await().until(() -> receiver.bytesSent() > 0);
      await().pollDelay(Duration.ofMillis(100)).until(() -> !running.future().isDone());

      running.thread().interrupt();

      assertThat(running.result()).isEqualTo(new DeliveryResult.Accepted(202, "abc"));
    }
  }

  @Test
  void nothing_is_sent_after_close() throws IOException {
    try (var receiver = RawReceiver.responding(HttpRequestTest.OK)) {
      deliverer.close();

      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isEqualTo(new DeliveryResult.Interrupted());
      assertThat(receiver.requests()).isEmpty();
    }
  }

  @Test
  void running_attempts_keep_their_deadline_after_close() throws Exception {
    var arrived = new CountDownLatch(1);
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              arrived.countDown();
              wire.awaitClose();
            })) {
      var running = Attempt.at(receiver.url()).startBy(deliverer);
      arrived.await();

      deliverer.close();

      assertThat(Attempt.failureIn(running.result()).kind()).isEqualTo(FailureKind.TIMEOUT);
    }
  }

  private void assertTimesOut(Attempt attempt) {
    long start = System.nanoTime();

    assertThat(attempt.failureBy(deliverer))
        .isEqualTo(Failure.of(FailureKind.TIMEOUT, "no response within 1000 ms"));

    assertThat(System.nanoTime() - start)
        .isBetween(Attempt.TIMEOUT.toNanos(), Attempt.TIMEOUT.plus(GRACE).toNanos());
  }

  private static RawReceiver responding(String response) {
    return RawReceiver.with(
        wire -> {
          wire.read();
          wire.send(response);
        });
  }
}
