package carillon.model.task;

import static carillon.model.task.RetryPolicy.Backoff.EXPONENTIAL;
import static carillon.model.task.RetryPolicy.Backoff.FIXED;
import static carillon.model.task.RetryPolicy.Backoff.LINEAR;
import static carillon.model.task.RetryPolicy.Jitter.EQUAL;
import static carillon.model.task.RetryPolicy.Jitter.FULL;
import static carillon.model.task.RetryPolicy.Jitter.NONE;
import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RetryPolicyTest {

  private static final Instant NOW = Instant.parse("2026-11-15T10:00:00Z");
  private static final Failure FAILURE = Failure.of(FailureKind.STATUS, "503");

  private static final ClaimedTask CLAIMED =
      new ClaimedTask(
          TenantId.DEFAULT,
          new TaskId(new UUID(0, 1)),
          1,
          "t",
          5,
          null,
          RetryPolicy.DEFAULT.maxAttempts(),
          new Lease(1, new UUID(0, 2)),
          NOW,
          NOW,
          NOW,
          null,
          null,
          new Target.Pull(),
          true,
          RetryPolicy.DEFAULT,
          Duration.ofSeconds(10),
          List.of(),
          0,
          StatusRules.DEFAULT,
          null,
          null);

  private static RetryPolicy policy(RetryPolicy.Backoff backoff, RetryPolicy.Jitter jitter) {
    return new RetryPolicy(5, null, backoff, Duration.ofSeconds(2), Duration.ofSeconds(30), jitter);
  }

  @ParameterizedTest
  @CsvSource({
    "EXPONENTIAL, 1, 2",
    "EXPONENTIAL, 2, 4",
    "EXPONENTIAL, 4, 16",
    "EXPONENTIAL, 5, 30",
    "EXPONENTIAL, 100, 30",
    "LINEAR, 1, 2",
    "LINEAR, 3, 6",
    "LINEAR, 15, 30",
    "LINEAR, 16, 30",
    "FIXED, 1, 2",
    "FIXED, 50, 2"
  })
  void delays_grow_by_the_backoff_up_to_the_maximum(
      RetryPolicy.Backoff backoff, int attempt, int seconds) {
    assertThat(policy(backoff, NONE).delay(attempt, null, new Random(1)))
        .isEqualTo(Duration.ofSeconds(seconds));
  }

  @ParameterizedTest
  @EnumSource(RetryPolicy.Backoff.class)
  void very_long_delays_do_not_overflow(RetryPolicy.Backoff backoff) {
    Duration century = Duration.ofDays(36_500);
    RetryPolicy policy = new RetryPolicy(100, null, backoff, century, century, FULL);

    for (int attempt = 1; attempt <= 100; attempt++) {
      assertThat(policy.delay(attempt, null, new Random(attempt)))
          .isBetween(Duration.ZERO, century);
    }
  }

  @Test
  void full_jitter_covers_the_whole_delay_and_equal_jitter_its_second_half() {
    Random random = new Random(3);
    Duration whole = Duration.ofSeconds(16);
    Duration shortest = whole;
    Duration longest = Duration.ZERO;
    for (int i = 0; i < 2_000; i++) {
      Duration full = policy(EXPONENTIAL, FULL).delay(4, null, random);
      shortest = full.compareTo(shortest) < 0 ? full : shortest;
      longest = full.compareTo(longest) > 0 ? full : longest;
      assertThat(policy(EXPONENTIAL, EQUAL).delay(4, null, random))
          .isBetween(whole.dividedBy(2), whole);
    }
    assertThat(shortest).isLessThan(whole.dividedBy(10));
    assertThat(longest).isBetween(whole.multipliedBy(9).dividedBy(10), whole);
  }

  @Test
  void retry_after_is_a_lower_bound_and_is_capped() {
    Random random = new Random(5);
    for (int i = 0; i < 200; i++) {
      assertThat(policy(LINEAR, FULL).delay(1, Duration.ofSeconds(7), random))
          .isGreaterThanOrEqualTo(Duration.ofSeconds(7));
    }
    assertThat(policy(FIXED, NONE).delay(1, Duration.ofDays(3_650), random))
        .isEqualTo(RetryPolicy.RETRY_AFTER_CAP);
  }

  @Test
  void an_unanswered_attempt_is_repeated_after_a_delay_without_limit() {
    Random random = new Random(7);
    var lost = new DeliveryResult.Unreached(Failure.of(FailureKind.BROKER_LOST, "no answer"));
    for (int i = 0; i < 200; i++) {
      Outcome outcome = RetryPolicy.DEFAULT.decide(CLAIMED, lost, NOW, random);

      assertThat(outcome).isInstanceOf(Outcome.Released.class);
      assertThat(((Outcome.Released) outcome).readyAt())
          .isBetween(NOW.plusSeconds(2), NOW.plusSeconds(10));
    }
  }

  private static Outcome after(int attempt, @Nullable Duration maxAge) {
    RetryPolicy policy =
        new RetryPolicy(3, maxAge, FIXED, Duration.ofSeconds(10), Duration.ofHours(1), NONE);
    return policy.afterFailure(attempt, NOW.minusSeconds(60), FAILURE, null, NOW, new Random(1));
  }

  @Test
  void a_failure_is_retried_until_attempts_run_out() {
    assertThat(after(2, null)).isEqualTo(new Outcome.RetryAt(NOW.plusSeconds(10), FAILURE));
    assertThat(after(3, null)).isEqualTo(new Outcome.Dead(FAILURE, false));
  }

  @Test
  void no_attempt_starts_after_max_age() {
    assertThat(after(1, Duration.ofSeconds(71))).isInstanceOf(Outcome.RetryAt.class);
    assertThat(after(1, Duration.ofSeconds(69)))
        .isEqualTo(
            new Outcome.Dead(
                Failure.of(
                    FAILURE.kind(),
                    FAILURE.message() + "; the next attempt would come after maxAge"),
                false));
  }
}
