package carillon.model.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import carillon.model.task.RetryPolicy.Backoff;
import carillon.model.task.RetryPolicy.Jitter;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Properties of the delays of all policies, checked with random policies. */
class RetryDelayTest {

  private static final int POLICIES_PER_SEED = 500;
  private static final int DELAYS_PER_POLICY = 20;
  private static final Duration LONGEST_SETTABLE = Duration.ofDays(30);
  private static final Instant LAST = Instant.parse("+294276-12-31T23:59:59.999999Z");
  private static final Failure FAILURE = Failure.of(FailureKind.STATUS, "503");

  static LongStream seeds() {
    return LongStream.rangeClosed(1, 20);
  }

  /** A delay from a millisecond to 30 days, distributed evenly on a logarithmic scale. */
  private static Duration anyDelay(Random random) {
    double nanos = Math.exp(random.nextDouble(Math.log(1e6), Math.log(2.592e15)));
    return Duration.ofNanos((long) nanos);
  }

  private static int anyAttempt(Random random) {
    return random.nextBoolean()
        ? random.nextInt(1, 101)
        : (int) Math.exp(random.nextDouble(Math.log(Integer.MAX_VALUE)));
  }

  private static <T> T any(T[] values, Random random) {
    return values[random.nextInt(values.length)];
  }

  private static RetryPolicy anyPolicy(Random random) {
    Duration one = anyDelay(random);
    Duration other = anyDelay(random);
    boolean inOrder = one.compareTo(other) <= 0;
    return new RetryPolicy(
        Integer.MAX_VALUE,
        null,
        any(Backoff.values(), random),
        inOrder ? one : other,
        inOrder ? other : one,
        any(Jitter.values(), random));
  }

  /** The delay before jitter, computed from the definition with numbers that cannot overflow. */
  private static Duration byDefinition(RetryPolicy policy, int attempt) {
    BigInteger factor =
        switch (policy.backoff()) {
          case EXPONENTIAL -> BigInteger.TWO.pow(Math.min(attempt - 1, 200));
          case LINEAR -> BigInteger.valueOf(attempt);
          case FIXED -> BigInteger.ONE;
        };
    BigInteger grown = BigInteger.valueOf(policy.base().toNanos()).multiply(factor);
    return Duration.ofNanos(grown.min(BigInteger.valueOf(policy.max().toNanos())).longValueExact());
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void delays_stay_between_their_floor_and_their_cap(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < POLICIES_PER_SEED; i++) {
      RetryPolicy policy = anyPolicy(random);
      int attempt = anyAttempt(random);
      Duration retryAfter = random.nextBoolean() ? null : anyDelay(random);
      Duration whole = byDefinition(policy, attempt);
      Duration floor = retryAfter == null ? Duration.ZERO : shorter(retryAfter, Duration.ofDays(1));
      Duration least =
          switch (policy.jitter()) {
            case FULL -> Duration.ZERO;
            case EQUAL -> whole.dividedBy(2);
            case NONE -> whole;
          };
      for (int j = 0; j < DELAYS_PER_POLICY; j++) {
        Duration delay = policy.delay(attempt, retryAfter, random);

        assertThat(delay)
            .as("attempt %d of %s with Retry-After %s", attempt, policy, retryAfter)
            .isBetween(longer(floor, least), longer(floor, whole));
      }
    }
  }

  /** Each tenth of the range must get about a tenth of many delays. */
  @ParameterizedTest
  @CsvSource({"FULL, 0, 16", "EQUAL, 8, 16"})
  void jitter_spreads_evenly_over_its_range(Jitter jitter, int fromSeconds, int toSeconds) {
    RetryPolicy policy =
        new RetryPolicy(
            9, null, Backoff.EXPONENTIAL, Duration.ofSeconds(2), Duration.ofHours(1), jitter);
    int delays = 100_000;
    int[] parts = new int[10];
    Random random = new Random(11);
    long from = Duration.ofSeconds(fromSeconds).toNanos();
    long range = Duration.ofSeconds(toSeconds).toNanos() - from;

    for (int i = 0; i < delays; i++) {
      long above = policy.delay(4, null, random).toNanos() - from;
      assertThat(above).isBetween(0L, range);
      parts[(int) Math.min(9, above * 10 / range)]++;
    }

    // Five times the standard deviation of a fair count.
    assertThat(Arrays.stream(parts).boxed())
        .allSatisfy(count -> assertThat(count).isCloseTo(delays / 10, within(475)));
  }

  @Test
  void without_jitter_the_delay_is_constant() {
    RetryPolicy policy =
        new RetryPolicy(
            9, null, Backoff.LINEAR, Duration.ofSeconds(2), Duration.ofHours(1), Jitter.NONE);

    for (int seed = 0; seed < 100; seed++) {
      assertThat(policy.delay(4, null, new Random(seed))).isEqualTo(Duration.ofSeconds(8));
    }
  }

  @ParameterizedTest
  @EnumSource(Backoff.class)
  void extreme_values_are_clamped(Backoff backoff) {
    Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
    for (Jitter jitter : Jitter.values()) {
      for (Duration base : new Duration[] {Duration.ofMillis(1), LONGEST_SETTABLE, endless}) {
        for (int attempt : new int[] {0, 1, 2, 63, 64, 65, 1_000_000, Integer.MAX_VALUE}) {
          RetryPolicy policy =
              new RetryPolicy(Integer.MAX_VALUE, null, backoff, base, endless, jitter);

          assertThat(policy.delay(attempt, endless, new Random(attempt)))
              .as("attempt %d from %s with jitter %s", attempt, base, jitter)
              .isBetween(RetryPolicy.RETRY_AFTER_CAP, Duration.ofNanos(Long.MAX_VALUE));
        }
      }
    }
  }

  private static Outcome decided(Instant now, Instant dueAt, @Nullable Duration maxAge) {
    RetryPolicy policy =
        new RetryPolicy(9, maxAge, Backoff.FIXED, LONGEST_SETTABLE, LONGEST_SETTABLE, Jitter.NONE);
    return policy.afterFailure(1, dueAt, FAILURE, null, now, new Random(1));
  }

  @Test
  void a_retry_is_never_later_than_the_latest_timestamp_of_postgresql() {
    assertThat(decided(LAST.minusSeconds(5), LAST, null))
        .isEqualTo(new Outcome.RetryAt(LAST, FAILURE));
    assertThat(decided(Instant.MAX, LAST, null)).isEqualTo(new Outcome.RetryAt(LAST, FAILURE));
    assertThat(decided(LAST.minus(LONGEST_SETTABLE), LAST, null))
        .isEqualTo(new Outcome.RetryAt(LAST, FAILURE));
  }

  @Test
  void max_age_does_not_overflow_for_extreme_due_times() {
    Instant now = Instant.parse("2026-11-15T10:00:00Z");
    Outcome retried = new Outcome.RetryAt(now.plus(LONGEST_SETTABLE), FAILURE);

    assertThat(decided(now, Instant.MAX, Duration.ofSeconds(1))).isEqualTo(retried);
    assertThat(decided(now, LAST, Duration.ofSeconds(Long.MAX_VALUE))).isEqualTo(retried);
    assertThat(decided(now, now, Duration.ofSeconds(Long.MAX_VALUE))).isEqualTo(retried);
    assertThat(decided(now, Instant.MIN, Duration.ofDays(730))).isInstanceOf(Outcome.Dead.class);
  }

  private static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) <= 0 ? a : b;
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) >= 0 ? a : b;
  }
}
