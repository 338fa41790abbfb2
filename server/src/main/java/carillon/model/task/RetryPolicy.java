package carillon.model.task;

import java.time.Duration;
import java.time.Instant;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Turns what happened on the wire into what happens to the task. No clock, no I/O.
 *
 * @param maxAttempts attempts before the task is dead. Default 5.
 * @param maxAge no attempt starts later than this after the due time; null means no such limit
 * @param base the first delay. Default 1 s.
 * @param max the longest delay. Default 1 h.
 */
public record RetryPolicy(
    int maxAttempts,
    @Nullable Duration maxAge,
    Backoff backoff,
    Duration base,
    Duration max,
    Jitter jitter) {

  public static final RetryPolicy DEFAULT =
      new RetryPolicy(
          5, null, Backoff.EXPONENTIAL, Duration.ofSeconds(1), Duration.ofHours(1), Jitter.FULL);

  /** A target may ask us to wait, but not for ever. */
  public static final Duration RETRY_AFTER_CAP = Duration.ofHours(24);

  /** What nobody answered to comes again after a pause between these two. */
  static final Duration UNREACHED_AT_LEAST = Duration.ofSeconds(2);

  static final Duration UNREACHED_AT_MOST = Duration.ofSeconds(10);

  /** Doubled this often, the shortest delay is longer than any that can be set. */
  private static final int MOST_DOUBLINGS = 40;

  /** The most that fits into nanoseconds with one to spare: 292 years. */
  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE - 1);

  /** The end of time in PostgreSQL. */
  private static final Instant LAST = Instant.parse("+294276-12-31T23:59:59.999999Z");

  /** How delays grow from attempt to attempt. */
  public enum Backoff {
    EXPONENTIAL,
    LINEAR,
    FIXED
  }

  /** How delays are spread, so that what failed together does not come back together. */
  public enum Jitter {
    /** Anything from nothing to the whole delay. */
    FULL,
    /** Half of the delay, and anything up to the other half. */
    EQUAL,
    NONE
  }

  /** What an attempt that ended with {@code result} at {@code now} means for its task. */
  public Outcome decide(
      ClaimedTask task, DeliveryResult result, Instant now, RandomGenerator random) {
    return switch (result) {
      case DeliveryResult.Accepted(var status, var output) -> new Outcome.Completed(status, output);
      case DeliveryResult.Interrupted() ->
          new Outcome.Released(
              Failure.of(FailureKind.SHUTDOWN, "the node was stopped before the attempt ended"));
      case DeliveryResult.Unreached(var failure) ->
          new Outcome.Released(failure, after(now, Duration.ofMillis(pause(random))));
      case DeliveryResult.Refused(var failure) -> new Outcome.Dead(failure, false);
      case DeliveryResult.Gone(var failure) -> new Outcome.Dead(failure, task.targetIsOfType());
      case DeliveryResult.Failed(var failure, var retryAfter) ->
          afterFailure(task.attempt(), task.dueAt(), failure, retryAfter, now, random);
    };
  }

  /** What costs no attempt would else be tried, and written down, without end and without rest. */
  private static long pause(RandomGenerator random) {
    return random.nextLong(UNREACHED_AT_LEAST.toMillis(), UNREACHED_AT_MOST.toMillis() + 1);
  }

  /** Retries within the budget and the age; dead otherwise. */
  public Outcome afterFailure(
      int attempt,
      Instant dueAt,
      Failure failure,
      @Nullable Duration retryAfter,
      Instant now,
      RandomGenerator random) {
    if (attempt >= maxAttempts) {
      return new Outcome.Dead(failure, false);
    }
    Instant readyAt = after(now, delay(attempt, retryAfter, random));
    if (maxAge != null && readyAt.isAfter(after(dueAt, maxAge))) {
      return new Outcome.Dead(failure.and("the next attempt would come after maxAge"), false);
    }
    return new Outcome.RetryAt(readyAt, failure);
  }

  /**
   * How long to wait after the given attempt; what the target asked for is a floor that jitter
   * never goes below.
   */
  Duration delay(int attempt, @Nullable Duration retryAfter, RandomGenerator random) {
    Duration spread = spread(growth(attempt), random);
    Duration floor = retryAfter == null ? Duration.ZERO : shorter(retryAfter, RETRY_AFTER_CAP);
    return spread.compareTo(floor) >= 0 ? spread : floor;
  }

  private Duration growth(int attempt) {
    int number = Math.max(1, attempt);
    long factor =
        switch (backoff) {
          case EXPONENTIAL -> 1L << Math.min(number - 1, MOST_DOUBLINGS);
          case LINEAR -> number;
          case FIXED -> 1;
        };
    // Compared by division, because base x factor may not fit.
    return shorter(
        max.dividedBy(factor).compareTo(base) < 0 ? max : base.multipliedBy(factor), LONGEST);
  }

  private Duration spread(Duration delay, RandomGenerator random) {
    long nanos = delay.toNanos();
    return switch (jitter) {
      case FULL -> Duration.ofNanos(random.nextLong(nanos + 1));
      case EQUAL -> Duration.ofNanos(nanos - nanos / 2 + random.nextLong(nanos / 2 + 1));
      case NONE -> delay;
    };
  }

  private static Instant after(Instant start, Duration delay) {
    return Duration.between(start, LAST).compareTo(delay) < 0 ? LAST : start.plus(delay);
  }

  private static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) <= 0 ? a : b;
  }
}
