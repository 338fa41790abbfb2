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

class HttpAnswerTest {

  final HttpDeliverer deliverer = Attempt.deliverer();

  @AfterEach
  void close() {
    deliverer.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 201, 202, 203, 204, 206, 207, 226, 299})
  void success_is_accepted(int status) throws IOException {
    assertThat(answered(status)).isEqualTo(new DeliveryResult.Accepted(status, null));
  }

  @ParameterizedTest
  @ValueSource(ints = {408, 425, 429, 500, 501, 502, 503, 504, 511, 599})
  void what_may_work_later_has_failed(int status) throws IOException {
    assertThat(answered(status))
        .isEqualTo(new DeliveryResult.Failed(statusFailure(status, ""), null));
  }

  @ParameterizedTest
  @ValueSource(ints = {400, 401, 403, 404, 405, 409, 411, 413, 418, 422, 426, 428, 431, 451, 499})
  void other_client_errors_are_refused(int status) throws IOException {
    assertThat(answered(status)).isEqualTo(new DeliveryResult.Refused(statusFailure(status, "")));
  }

  @ParameterizedTest
  @ValueSource(ints = {300, 301, 302, 303, 304, 307, 308, 399})
  void redirects_are_refused_with_a_reason(int status) throws IOException {
    assertThat(answered(status))
        .isEqualTo(
            new DeliveryResult.Refused(statusFailure(status, " (redirects are not followed)")));
  }

  @Test
  void gone_is_gone() throws IOException {
    assertThat(answered(410)).isEqualTo(new DeliveryResult.Gone(statusFailure(410, "")));
  }

  @ParameterizedTest
  @ValueSource(ints = {600, 700, 999})
  void statuses_that_do_not_exist_are_no_http(int status) throws IOException {
    assertThat(Attempt.failureIn(answered(status)).kind()).isEqualTo(FailureKind.PROTOCOL);
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
  void the_target_may_ask_us_to_wait(String header, @Nullable Duration expected)
      throws IOException {
    for (int status : new int[] {429, 503}) {
      DeliveryResult result = answered(status, header + "\r\n");

      assertThat(result).isEqualTo(new DeliveryResult.Failed(statusFailure(status, ""), expected));
    }
  }

  @Test
  void a_target_that_asks_for_two_waits_is_not_heard() throws IOException {
    assertThat(answered(503, "Retry-After: 5\r\nRetry-After: 6\r\n"))
        .isEqualTo(new DeliveryResult.Failed(statusFailure(503, ""), null));
  }

  @Test
  void the_body_is_kept_as_output() throws IOException {
    assertThat(bodied(200, "done \u00fc\u20ac")).isEqualTo("done \u00fc\u20ac");
    assertThat(bodied(500, "<b>no</b>\u001b[31m")).isEqualTo("<b>no</b>\u001b[31m");
  }

  @Test
  void nul_characters_are_dropped_because_the_database_cannot_store_them() throws IOException {
    assertThat(bodied(200, "a\u0000b")).isEqualTo("ab");
  }

  @Test
  void a_long_body_is_cut_between_characters() throws IOException {
    assertThat(bodied(200, "a" + "\u20ac".repeat(2000))).isEqualTo("a" + "\u20ac".repeat(1365));
  }

  @Test
  void a_chunked_body_is_put_together() throws IOException {
    String chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";

    try (var receiver = RawReceiver.answering(chunked)) {
      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isEqualTo(new DeliveryResult.Accepted(200, "abcde"));
    }
  }

  @Test
  void interim_answers_are_passed_over() throws IOException {
    String interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n";
    String answers = interim + "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";

    try (var receiver = RawReceiver.answering(answers)) {
      assertThat(Attempt.at(receiver.url()).failureBy(deliverer).status()).isEqualTo(503);
    }
  }

  @Test
  void cookies_and_challenges_are_ignored() throws IOException {
    String headers = "Set-Cookie: a=b\r\nWWW-Authenticate: Basic realm=x\r\n";
    String answer = "HTTP/1.1 401 No\r\n" + headers + "Content-Length: 0\r\n\r\n";

    try (var receiver = RawReceiver.answering(answer)) {
      Attempt.at(receiver.url()).by(deliverer);
      Attempt.at(receiver.url()).by(deliverer);

      assertThat(receiver.requests())
          .hasSize(2)
          .noneMatch(request -> request.headers().containsKey("cookie"))
          .noneMatch(request -> request.headers().containsKey("authorization"));
    }
  }

  @Test
  void a_compressed_body_is_not_unpacked() throws IOException {
    String answer = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd";

    try (var receiver = RawReceiver.answering(answer)) {
      assertThat(Attempt.at(receiver.url()).by(deliverer))
          .isEqualTo(new DeliveryResult.Accepted(200, "abcd"));
    }
  }

  private DeliveryResult answered(int status) throws IOException {
    return answered(status, "");
  }

  private DeliveryResult answered(int status, String headers) throws IOException {
    String answer = "HTTP/1.1 " + status + " X\r\n" + headers + "Content-Length: 0\r\n\r\n";
    try (var receiver = RawReceiver.answering(answer)) {
      DeliveryResult result = Attempt.at(receiver.url()).by(deliverer);
      assertThat(receiver.requests()).hasSize(1);
      return result;
    }
  }

  private @Nullable String bodied(int status, String body) throws IOException {
    String head = "HTTP/1.1 " + status + " X\r\nConnection: close\r\n\r\n";
    try (var receiver =
        RawReceiver.that(
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
