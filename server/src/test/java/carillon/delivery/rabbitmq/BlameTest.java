package carillon.delivery.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lease;
import carillon.model.task.RetryPolicy;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.ShutdownSignalException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class BlameTest {

  private static final Instant NOW = Instant.parse("2026-11-15T10:00:00Z");
  private static final Blame NOT_ALLOWED =
      closed(
          403, "ACCESS_REFUSED - write access to exchange 'a' in vhost 'v' refused for user 'u'");
  private static final Blame MISSING = closed(404, "NOT_FOUND - no exchange 'a' in vhost 'v'");
  private static final Blame TOO_LARGE =
      closed(406, "PRECONDITION_FAILED - message size 700 is larger than configured max size 512");
  private static final Blame UNKNOWN = closed(406, "PRECONDITION_FAILED - something in vhost 'v'");

  private static Blame closed(int code, String text) {
    return Blame.of(
        new ShutdownSignalException(
            false,
            false,
            new AMQP.Channel.Close.Builder().replyCode(code).replyText(text).build(),
            ""));
  }

  private static Publication sent(String exchange, int bytes) {
    Publication publication = unsent(exchange);
    publication.sent(1, bytes);
    return publication;
  }

  private static Publication unsent(String exchange) {
    var target = new Target.RabbitMq("main", exchange, "k", Target.Complete.ON_PUBLISH, null);
    var task =
        new ClaimedTask(
            TenantId.DEFAULT,
            new TaskId(new UUID(0, 1)),
            1,
            "t",
            5,
            null,
            1,
            new Lease(1, new UUID(0, 2)),
            NOW,
            NOW,
            NOW,
            null,
            null,
            target,
            false,
            RetryPolicy.DEFAULT,
            Duration.ofSeconds(10),
            List.of(),
            0,
            StatusRules.DEFAULT,
            null,
            null);
    return new Publication(task, target, null, (_, _) -> {});
  }

  private static Failure failure(DeliveryResult result) {
    return switch (result) {
      case DeliveryResult.Failed(var failure, _) -> failure;
      case DeliveryResult.Refused(var failure) -> failure;
      case DeliveryResult.Unreached(var failure) -> failure;
      default -> throw new AssertionError("not failed, but " + result);
    };
  }

  @Test
  void only_the_messages_that_caused_the_close_fail() {
    assertThat(failure(MISSING.resultOf(sent("a", 1), true)).kind())
        .isEqualTo(FailureKind.UNROUTABLE);
    assertThat(failure(NOT_ALLOWED.resultOf(sent("a", 1), true)).kind())
        .isEqualTo(FailureKind.BROKER_REFUSED);
    for (Blame blame : List.of(MISSING, NOT_ALLOWED, TOO_LARGE)) {
      assertThat(blame.resultOf(sent("b", 1), true)).isInstanceOf(DeliveryResult.Unreached.class);
    }
  }

  @Test
  void a_message_over_the_size_limit_is_refused() {
    assertThat(TOO_LARGE.resultOf(sent("a", 700), true)).isInstanceOf(DeliveryResult.Refused.class);
  }

  @Test
  void a_close_without_a_known_cause_fails_only_sent_messages() {
    assertThat(UNKNOWN.isOn(sent("a", 1))).isFalse();
    assertThat(UNKNOWN.resultOf(sent("a", 1), false)).isInstanceOf(DeliveryResult.Failed.class);
    assertThat(UNKNOWN.resultOf(unsent("a"), false)).isInstanceOf(DeliveryResult.Unreached.class);
  }

  @Test
  void a_lost_connection_and_our_own_close_fail_no_message() {
    var ours =
        new ShutdownSignalException(
            false,
            true,
            new AMQP.Channel.Close.Builder().replyCode(200).replyText("OK").build(),
            "");
    var lost = new ShutdownSignalException(true, false, null, "");
    for (ShutdownSignalException cause : List.of(ours, lost)) {
      assertThat(Blame.of(cause).resultOf(sent("a", 1), false))
          .isInstanceOf(DeliveryResult.Unreached.class);
    }
  }

  @Test
  void errors_do_not_expose_virtual_hosts_and_users() {
    for (Blame blame : List.of(MISSING, NOT_ALLOWED, TOO_LARGE, UNKNOWN)) {
      for (int bytes : new int[] {1, 700}) {
        assertThat(failure(blame.resultOf(sent("a", bytes), false)).message())
            .doesNotContain("vhost", "'v'", "'u'", "_");
      }
    }
  }
}
