package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.delivery.Signature;
import carillon.model.target.SigningSecret;
import carillon.model.task.DeliveryResult;
import carillon.testkit.RawReceiver;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpRequestTest {

  static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

  final HttpDeliverer deliverer = Attempt.deliverer();
  final RawReceiver receiver = RawReceiver.responding(OK);

  @AfterEach
  void close() throws IOException {
    deliverer.close();
    receiver.close();
  }

  @Test
  void a_request_has_the_payload_and_the_headers() {
    var request = sent(at("/hook?a=b").number(3));

    assertThat(request.line()).isEqualTo("POST /hook?a=b HTTP/1.1");
    assertThat(request.body()).isEqualTo("{\"n\":1}");
    assertThat(request.headers())
        .containsEntry("host", "127.0.0.1:" + receiver.port())
        .containsEntry("user-agent", "Carillon/test")
        .containsEntry("content-type", "application/json")
        .containsEntry("content-length", "7")
        .containsEntry("accept-encoding", "identity")
        .containsEntry("webhook-id", Attempt.ID.toString())
        .containsEntry("webhook-timestamp", "" + Attempt.NOW.getEpochSecond())
        .containsEntry("carillon-task-id", Attempt.ID.toString())
        .containsEntry("carillon-task-type", "invoice.send")
        .containsEntry("carillon-attempt", "3")
        .containsEntry("carillon-fence", "9")
        .containsEntry("carillon-due-at", "2026-11-15T09:59:58.007Z");
  }

  @Test
  void a_request_has_no_other_headers() {
    assertThat(sent(at("/")).headers())
        .containsOnlyKeys(
            "host",
            "user-agent",
            "content-type",
            "content-length",
            "accept-encoding",
            "webhook-id",
            "webhook-timestamp",
            "traceparent",
            "carillon-task-id",
            "carillon-task-type",
            "carillon-attempt",
            "carillon-fence",
            "carillon-due-at");
  }

  @Test
  void every_attempt_of_a_scheduled_task_names_its_schedule_and_nominal_time() {
    Instant nominal = Instant.parse("2027-03-28T01:00:00Z");

    var first = sent(at("/").firedBy("nightly.report", nominal));
    var second = sent(at("/").firedBy("nightly.report", nominal).number(2));

    assertThat(List.of(first, second))
        .allSatisfy(
            request ->
                assertThat(request.headers())
                    .containsEntry("carillon-schedule", "nightly.report")
                    .containsEntry("carillon-fire-at", "2027-03-28T01:00:00.000Z"));
  }

  @Test
  void the_request_is_recorded_without_secrets() {
    Attempt attempt =
        at("/hook?to=a&api_key=marker1")
            .header("Authorization", "Bearer marker2")
            .header("X-Shop", "7")
            .signedWith(secret("key"));

    String request = attempt.startBy(deliverer).delivery().request();

    assertThat(request)
        .startsWith(
            "{\"method\":\"POST\",\"url\":\"http://127.0.0.1:%d/hook?to=a&api_key=(hidden)\","
                .formatted(receiver.port()))
        .contains("\"Authorization\":\"(hidden)\"", "\"webhook-signature\":\"(hidden)\"")
        .contains("\"X-Shop\":\"7\"", "\"Content-Type\":\"application/json\"")
        .doesNotContain("marker", "v1,")
        // These are recorded with the task and the attempt.
        .doesNotContain("Carillon-Task-Id", "webhook-id", "traceparent");
  }

  @Test
  void a_request_without_a_response_is_recorded() throws IOException {
    try (var silent = RawReceiver.with(RawReceiver.Wire::read)) {
      assertThat(Attempt.at(silent.url()).startBy(deliverer).delivery().request()).isNotNull();
    }
  }

  @Test
  void no_request_is_recorded_if_none_was_sent() throws IOException {
    receiver.close();

    assertThat(at("/").startBy(deliverer).delivery().request()).isNull();
    assertThat(Attempt.at("http://10.0.0.1/").startBy(deliverer).delivery().request()).isNull();
  }

  @Test
  void attempts_of_a_task_are_spans_of_one_trace() {
    String first = sent(at("/")).header("traceparent");
    String second = sent(at("/").number(2)).header("traceparent");

    String trace = "00-" + Attempt.ID.toString().replace("-", "") + "-";
    assertThat(List.of(first, second))
        .allMatch(header -> header.matches(trace + "[0-9a-f]{16}-01"))
        .doesNotHaveDuplicates();
  }

  @Test
  void the_tenants_headers_are_sent_and_may_replace_the_content_type() {
    var request =
        sent(at("/").header("Authorization", "Bearer x").header("content-TYPE", "text/plain"));

    assertThat(request.headers())
        .containsEntry("authorization", "Bearer x")
        .containsEntry("content-type", "text/plain");
  }

  @Test
  void reserved_headers_are_not_sent_even_if_they_were_stored() {
    var request =
        sent(
            at("/")
                .header("Host", "evil")
                .header("Transfer-Encoding", "chunked")
                .header("Webhook-Id", "x"));

    assertThat(request.headers())
        .containsEntry("host", "127.0.0.1:" + receiver.port())
        .containsEntry("webhook-id", Attempt.ID.toString())
        .doesNotContainKey("transfer-encoding");
  }

  @Test
  void line_breaks_in_stored_headers_do_not_become_headers() {
    assertThat(sent(at("/").header("X-A", "1\r\nEvil: 2")).headers()).doesNotContainKey("evil");
  }

  @Test
  void a_configured_body_replaces_the_payload() {
    assertThat(sent(at("/").body("h\u00e9llo")).body()).isEqualTo("h\u00e9llo");
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST", "PUT", "PATCH"})
  void a_task_without_payload_has_an_empty_body(String method) {
    var request = sent(at("/").method(method).payload(null));

    assertThat(request.line()).startsWith(method + " ");
    assertThat(request.headers())
        .containsEntry("content-length", "0")
        .doesNotContainKey("content-type");
  }

  @Test
  void a_null_payload_is_sent_unchanged() {
    assertThat(sent(at("/").payload("null")).body()).isEqualTo("null");
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "DELETE"})
  void methods_without_a_body_send_none(String method) {
    var request = sent(at("/").method(method).signedWith(secret("key")));

    assertThat(request.headers()).doesNotContainKeys("content-length", "content-type");
    assertThat(request.header("webhook-signature")).isEqualTo(expected("", "key"));
  }

  @Test
  void a_signature_verifies_over_the_bytes_that_were_sent() {
    var request = sent(at("/").payload("{\"\u00fc\": [1, 2 ]}").signedWith(secret("key")));

    assertThat(request.header("webhook-signature")).isEqualTo(expected(request.body(), "key"));
  }

  @Test
  void each_secret_signs_during_rotation() {
    var request = sent(at("/").signedWith(secret("new"), secret("old")));

    assertThat(request.header("webhook-signature"))
        .isEqualTo(expected(request.body(), "new") + " " + expected(request.body(), "old"));
  }

  @Test
  void a_task_without_secrets_is_not_signed() {
    assertThat(sent(at("/")).header("webhook-signature")).isNull();
  }

  @Test
  void the_signature_matches_the_standard_webhooks_example() {
    var secret = new SigningSecret(Base64.getDecoder().decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));

    assertThat(
            Signature.of(
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1614265330,
                "{\"test\": 2432232314}".getBytes(StandardCharsets.UTF_8),
                List.of(secret)))
        .isEqualTo("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  }

  private Attempt at(String path) {
    return Attempt.at("http://127.0.0.1:" + receiver.port() + path);
  }

  private RawReceiver.Request sent(Attempt attempt) {
    assertThat(attempt.by(deliverer)).isInstanceOf(DeliveryResult.Accepted.class);
    return receiver.requests().getLast();
  }

  private static SigningSecret secret(String text) {
    return new SigningSecret(text.getBytes(StandardCharsets.UTF_8));
  }

  /** HMAC as RFC 2104 defines it, without the JDK's implementation. */
  private static String expected(@Nullable String body, String key) {
    String signed = Attempt.ID + "." + Attempt.NOW.getEpochSecond() + "." + body;
    byte[] padded = Arrays.copyOf(key.getBytes(StandardCharsets.UTF_8), 64);
    byte[] inner = sha256(masked(padded, 0x36), signed.getBytes(StandardCharsets.UTF_8));
    return "v1," + Base64.getEncoder().encodeToString(sha256(masked(padded, 0x5c), inner));
  }

  private static byte[] masked(byte[] bytes, int mask) {
    byte[] result = bytes.clone();
    for (int i = 0; i < result.length; i++) {
      result[i] ^= (byte) mask;
    }
    return result;
  }

  private static byte[] sha256(byte[] first, byte[] second) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(first);
      return digest.digest(second);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
