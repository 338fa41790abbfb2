package carillon.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Delivery;
import carillon.model.DeliveryResult;
import carillon.model.FailureKind;
import carillon.model.Target;
import carillon.testkit.RawReceiver;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A target that sends back what it was sent shows no secrets in what is kept of its answer. */
class SentSecretsTest {

  final HttpDeliverer deliverer = Attempt.deliverer();

  @AfterEach
  void close() {
    deliverer.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {200, 500, 400, 410})
  void secrets_that_the_target_sends_back_are_not_kept(int status) throws IOException {
    String echo =
        "got Authorization: Bearer s3cret-token, s3cret-token, x=42-lame-ducks, p=url-s3cret";
    try (RawReceiver target = answering(status, echo)) {
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

  @Test
  void a_secret_that_the_end_of_what_is_kept_cuts_in_two_is_not_kept() throws IOException {
    String filler = "x".repeat(KeptBody.MAX_BYTES - 7);
    try (RawReceiver target = answering(200, filler + "s3cret-token")) {
      DeliveryResult result =
          Attempt.at(target.url()).header("Authorization", "Bearer s3cret-token").by(deliverer);

      assertThat(output(result)).startsWith(filler).doesNotContain("s3cr");
      assertThat(output(result).length()).isLessThanOrEqualTo(KeptBody.MAX_BYTES);
    }
  }

  @Test
  void what_is_kept_does_not_grow() {
    var secrets =
        SentSecrets.of(new Target.Http("http://a/", "GET", Map.of("X-Key", "secret"), null, null));
    String text = "secret".repeat(680);

    assertThat(secrets.hiddenIn(text)).hasSize(text.length()).doesNotContain("secret");
  }

  @Test
  void short_values_and_texts_without_secrets_are_left_alone() {
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
  void a_target_whose_secret_is_missing_is_not_called() throws IOException {
    try (RawReceiver target = answering(200, "ok")) {
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

  private static RawReceiver answering(int status, String body) {
    int length = body.getBytes(StandardCharsets.UTF_8).length;
    return RawReceiver.answering(
        "HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s".formatted(status, length, body));
  }

  private static String output(DeliveryResult result) {
    String output =
        switch (result) {
          case DeliveryResult.Accepted(_, var kept) -> kept;
          case DeliveryResult.Failed(var failure, _) -> failure.output();
          case DeliveryResult.Refused(var failure) -> failure.output();
          case DeliveryResult.Gone(var failure) -> failure.output();
          default -> throw new AssertionError("not answered: " + result);
        };
    return String.valueOf(output);
  }
}
