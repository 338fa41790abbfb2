package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.testkit.RawReceiver;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HttpResponseTest {

  final HttpDeliverer deliverer = Attempt.deliverer();

  @AfterEach
  void close() {
    deliverer.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 201, 202, 203, 204, 206, 207, 226, 299})
  void success_is_accepted(int status) throws IOException {
    assertThat(resultOf(status)).isEqualTo(new DeliveryResult.Accepted(status, null));
  }

  @ParameterizedTest
  @ValueSource(ints = {408, 425, 429, 500, 501, 502, 503, 504, 511, 599})
  void retryable_statuses_are_failures(int status) throws IOException {
    assertThat(resultOf(status))
        .isEqualTo(new DeliveryResult.Failed(statusFailure(status, ""), null));
  }

  @ParameterizedTest
  @ValueSource(ints = {400, 401, 403, 404, 405, 409, 411, 413, 418, 422, 426, 428, 431, 451, 499})
  void other_client_errors_are_refusals(int status) throws IOException {
    assertThat(resultOf(status)).isEqualTo(new DeliveryResult.Refused(statusFailure(status, "")));
  }

  @ParameterizedTest
  @ValueSource(ints = {300, 301, 302, 303, 304, 307, 308, 399})
  void redirects_are_refusals_with_a_reason(int status) throws IOException {
    assertThat(resultOf(status))
        .isEqualTo(
            new DeliveryResult.Refused(statusFailure(status, " (redirects are not followed)")));
  }

  @Test
  void status_410_is_gone() throws IOException {
    assertThat(resultOf(410)).isEqualTo(new DeliveryResult.Gone(statusFailure(410, "")));
  }

  @ParameterizedTest
  @ValueSource(ints = {600, 700, 999})
  void invalid_statuses_are_protocol_failures(int status) throws IOException {
    assertThat(Attempt.failureIn(resultOf(status)).kind()).isEqualTo(FailureKind.PROTOCOL);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "Retry-After: 0 | PT0S",
        "Retry-After: 120 | PT2M",
        "retry-after:   7   | PT7S",
        "Retry-After: 315360000 | PT87600H",
        "Retry-After: 999999999999999999 | PT999999999999999999S",
        "Retry-After: Sun, 15 Nov 2026 10:01:00 GMT | PT59.75S",
        "Retry-After: Sun, 15 Nov 2026 09:00:00 GMT |",
        "Retry-After: Sunday, 15-Nov-26 10:01:00 GMT | PT59.75S",
        "Retry-After: Sun Nov 15 10:01:00 2026 | PT59.75S",
        "Retry-After: Tue Dec  1 10:00:00 2026 | PT383H59M59.75S",
        "Retry-After: 9999999999999999999 | PT24H",
        "Retry-After: -1 |",
        "Retry-After: -5 |",
        "Retry-After: 1e9 |",
        "Retry-After: +5 |",
        "Retry-After: 0x10 |",
        "Retry-After: 1.5 |",
        "Retry-After: soon |",
        "Retry-After: |",
        "Retry-After: Monday, 15-Nov-26 10:01:00 GMT |",
        "Retry-After: Sunday, 15-Nov-77 10:01:00 GMT |",
        "Retry-After: Sun Nov 15 10:01:00 2026 GMT |",
        "Retry-After: Sun, 31 Nov 2026 10:01:00 GMT |",
        "Retry-After: 2026-11-15T10:01:00Z |",
        "Retry-After: 5, 6 |",
        "X-Other: 5 |"
      })
  void retry_after_is_parsed(String header, @Nullable Duration expected) throws IOException {
    for (int status : new int[] {429, 503}) {
      DeliveryResult result = resultOf(status, header + "\r\n");

      assertThat(result).isEqualTo(new DeliveryResult.Failed(statusFailure(status, ""), expected));
    }
  }

  @Test
  void two_retry_after_headers_are_ignored() throws IOException {
    assertThat(resultOf(503, "Retry-After: 5\r\nRetry-After: 6\r\n"))
        .isEqualTo(new DeliveryResult.Failed(statusFailure(503, ""), null));
  }

  @Test
  void the_body_is_stored_as_output() throws IOException {
    assertThat(outputOf(200, "done \u00fc\u20ac")).isEqualTo("done \u00fc\u20ac");
    assertThat(outputOf(500, "<b>no</b>\u001b[31m")).isEqualTo("<b>no</b>\u001b[31m");
  }

  @Test
  void nul_characters_are_dropped_because_the_database_cannot_store_them() throws IOException {
    assertThat(outputOf(200, "a\u0000b")).isEqualTo("ab");
  }

  @Test
  void a_long_body_is_truncated_between_characters() throws IOException {
    assertThat(outputOf(200, "a" + "\u20ac".repeat(2000))).isEqualTo("a" + "\u20ac".repeat(1365));
  }

  @Test
  void a_chunked_body_is_decoded() throws IOException {
    String chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";

    try (var receiver = RawReceiver.responding(chunked)) {
      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isEqualTo(new DeliveryResult.Accepted(200, "abcde"));
    }
  }

  @Test
  void interim_responses_are_skipped() throws IOException {
    String interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n";
    String responses = interim + "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";

    try (var receiver = RawReceiver.responding(responses)) {
      assertThat(Attempt.at(receiver.url()).failureBy(deliverer).status()).isEqualTo(503);
    }
  }

  @Test
  void cookies_and_challenges_are_ignored() throws IOException {
    String headers = "Set-Cookie: a=b\r\nWWW-Authenticate: Basic realm=x\r\n";
    String response = "HTTP/1.1 401 No\r\n" + headers + "Content-Length: 0\r\n\r\n";

    try (var receiver = RawReceiver.responding(response)) {
      Attempt.at(receiver.url()).by(deliverer);
      Attempt.at(receiver.url()).by(deliverer);

      assertThat(receiver.requests())
          .hasSize(2)
          .noneMatch(request -> request.headers().containsKey("cookie"))
          .noneMatch(request -> request.headers().containsKey("authorization"));
    }
  }

  @Test
  void a_compressed_body_is_not_decompressed() throws IOException {
    String response = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd";

    try (var receiver = RawReceiver.responding(response)) {
      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isEqualTo(new DeliveryResult.Accepted(200, "abcd"));
    }
  }

  private DeliveryResult resultOf(int status) throws IOException {
    return resultOf(status, "");
  }

  private DeliveryResult resultOf(int status, String headers) throws IOException {
    String response = "HTTP/1.1 " + status + " X\r\n" + headers + "Content-Length: 0\r\n\r\n";
    try (var receiver = RawReceiver.responding(response)) {
      DeliveryResult result = Attempt.at(receiver.url()).by(deliverer);
      assertThat(receiver.requests()).hasSize(1);
      return result;
    }
  }

  private @Nullable String outputOf(int status, String body) throws IOException {
    String head = "HTTP/1.1 " + status + " X\r\nConnection: close\r\n\r\n";
    try (var receiver =
        RawReceiver.with(
            wire -> {
              wire.read();
              wire.send(head + body);
            })) {
      return switch (Attempt.at(receiver.url()).by(deliverer)) {
        case DeliveryResult.Accepted(var _, var output) -> output;
        case DeliveryResult.Failed(var failure, var _) -> failure.output();
        case DeliveryResult.Refused(var failure) -> failure.output();
        case DeliveryResult.Gone(var failure) -> failure.output();
        case DeliveryResult.Unreached _, DeliveryResult.Interrupted() -> throw new AssertionError();
      };
    }
  }

  private static Failure statusFailure(int status, String more) {
    return new Failure(FailureKind.STATUS, "HTTP " + status + " from target" + more, status, null);
  }
}
