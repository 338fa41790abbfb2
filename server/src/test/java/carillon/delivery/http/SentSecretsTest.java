package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.target.Target;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import carillon.testkit.RawReceiver;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Secrets that a target echoes are not stored with its response. */
class SentSecretsTest {

  final HttpDeliverer deliverer = Attempt.deliverer();

  @AfterEach
  void close() {
    deliverer.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 500, 400, 410})
  void echoed_secrets_are_not_stored(int status) throws IOException {
    String echo =
        "got Authorization: Bearer s3cret-token, s3cret-token, x=42-lame-ducks, p=url-s3cret";
    try (RawReceiver target = responding(status, echo)) {
      Delivery delivery =
          Attempt.at(target.url() + "?token=url-s3cret")
              .header("Authorization", "Bearer s3cret-token")
              .header("X-Region", "got")
              .secretHeader("X-Lame", "42-lame-ducks")
              .startBy(deliverer)
              .delivery();

      assertThat(output(delivery.result()))
          .isEqualTo("got Authorization: (hidden), (hidden), x=(hidden), p=(hidden)");
      assertThat(delivery.request())
          .contains("\"X-Lame\":\"(hidden)\"", "\"X-Region\":\"got\"", "?token=(hidden)")
          .doesNotContain("lame-ducks", "s3cret");
    }
  }

  /** The secret is {@code pa"ss/w\örd+1 end}. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "pa\"ss/w\\\u00f6rd+1 end",
        "pa\\\"ss/w\\\\\u00f6rd+1 end",
        "pa\\\"ss\\/w\\\\\\u00f6rd+1 end",
        "\\u0070a\\u0022ss\\u002Fw\\u005C\\u00F6rd\\u002b1 end",
        "pa\\\\\\\"ss\\\\\\/w\\\\\\\\\\\\u00f6rd+1 end",
        "pa%22ss%2Fw%5C%C3%B6rd%2B1%20end",
        "pa%22ss%2fw%5c%c3%b6rd%2b1+end",
      })
  void a_secret_is_hidden_in_every_encoding(String echo) {
    var secrets =
        SentSecrets.of(
            new Target.Http(
                "http://a/", "GET", Map.of("X-Key", "pa\"ss/w\\\u00f6rd+1 end"), null, null));

    assertThat(secrets.hiddenIn("{\"is\": \"" + echo + "\"} \\n 100% " + echo + "."))
        .isEqualTo("{\"is\": \"(hidden)\"} \\n 100% (hidden).");
    String filler = "x".repeat(2_000);
    for (int cut = echo.length() - 1; cut > echo.length() / 2; cut--) {
      assertThat(secrets.hiddenIn(filler + echo.substring(0, cut))).isEqualTo(filler + "(hidden)");
    }
  }

  @Test
  void invalid_escapes_are_left_unchanged() {
    var secrets =
        SentSecrets.of(
            new Target.Http("http://a/", "GET", Map.of("X-Key", "s3cret-token"), null, null));
    String text = "C:\\users\\x \\u12 100% %zz a+b \\";

    assertThat(secrets.hiddenIn(text)).isEqualTo(text);
    assertThat(secrets.hiddenIn(text + "s3cret-token" + text)).isEqualTo(text + "(hidden)" + text);
  }

  @Test
  void a_truncated_secret_is_not_stored() throws IOException {
    String filler = "x".repeat(BodyExcerpt.MAX_BYTES - 7);
    try (RawReceiver target = responding(200, filler + "s3cret-token")) {
      DeliveryResult result =
          Attempt.at(target.url()).header("Authorization", "Bearer s3cret-token").by(deliverer);

      assertThat(output(result)).startsWith(filler).doesNotContain("s3cr");
      assertThat(output(result).length()).isLessThanOrEqualTo(BodyExcerpt.MAX_BYTES);
    }
  }

  @Test
  void hiding_secrets_does_not_make_the_text_longer() {
    var secrets =
        SentSecrets.of(new Target.Http("http://a/", "GET", Map.of("X-Key", "secret"), null, null));
    String text = "secret".repeat(680);

    assertThat(secrets.hiddenIn(text)).hasSize(text.length()).doesNotContain("secret");
  }

  @Test
  void short_values_and_texts_without_secrets_are_unchanged() {
    var none =
        SentSecrets.of(
            new Target.Http("http://a/?pin=1", "GET", Map.of("X-Key", "on"), null, null));
    var some =
        SentSecrets.of(
            new Target.Http("http://a/", "GET", Map.of("X-Key", "Bearer abcdef"), null, null));

    assertThat(none.isEmpty()).isTrue();
    assertThat(some.hiddenIn("once upon a time, Bear")).isEqualTo("once upon a time, Bear");
  }

  @Test
  void a_target_with_a_missing_secret_is_not_called() throws IOException {
    try (RawReceiver target = responding(200, "ok")) {
      DeliveryResult result =
          Attempt.at(target.url() + "?token=(hidden)")
              .header("Authorization", "(hidden)")
              .by(deliverer);

      assertThat(result)
          .isInstanceOfSatisfying(
              DeliveryResult.Refused.class,
              refused -> {
                assertThat(refused.failure().kind()).isEqualTo(FailureKind.CREDENTIAL_MISSING);
                assertThat(refused.failure().message()).contains("Authorization, url");
              });
      assertThat(target.connections()).isZero();
    }
  }

  private static RawReceiver responding(int status, String body) {
    int length = body.getBytes(StandardCharsets.UTF_8).length;
    return RawReceiver.responding(
        "HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s".formatted(status, length, body));
  }

  private static String output(DeliveryResult result) {
    String output =
        switch (result) {
          case DeliveryResult.Accepted(_, var text) -> text;
          case DeliveryResult.Failed(var failure, _) -> failure.output();
          case DeliveryResult.Refused(var failure) -> failure.output();
          case DeliveryResult.Gone(var failure) -> failure.output();
          default -> throw new AssertionError("no response: " + result);
        };
    return String.valueOf(output);
  }
}
