package carillon.model.task;

import java.time.Duration;
import java.time.Instant;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Turns what happened on the wire into what happens to the task. No clock, no I/O.
 *
 * @param maxAttempts attempts before the task is dead. Default 5.
 * @param maxAge no attempt starts later than this after the due time; null means no limit
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

  /** The longest {@code Retry-After} of a target that is honoured. */
  public static final Duration RETRY_AFTER_CAP = Duration.ofHours(24);

  /** The range of the delay after an attempt that nobody answered. */
  static final Duration MIN_UNREACHED_DELAY = Duration.ofSeconds(2);

  static final Duration MAX_UNREACHED_DELAY = Duration.ofSeconds(10);

  /** After this many doublings, the shortest delay exceeds the longest one that can be set. */
  private static final int MAX_DOUBLINGS = 40;

  /** The most that fits into a long of nanoseconds, less one for the bound of the jitter. */
  private static final Duration MAX_DELAY = Duration.ofNanos(Long.MAX_VALUE - 1);

  /** The latest timestamp in PostgreSQL. */
  private static final Instant MAX_TIMESTAMP = Instant.parse("+294276-12-31T23:59:59.999999Z");

  /** How delays grow from attempt to attempt. */
  public enum Backoff {
    EXPONENTIAL,
    LINEAR,
    FIXED
  }

  /** How delays are randomized, so that tasks that fail together are not retried together. */
  public enum Jitter {
    /** Between zero and the whole delay. */
    FULL,
    /** Between half of the delay and the whole delay. */
    EQUAL,
    NONE
  }

  /** The outcome for a task whose attempt ended with {@code result} at {@code now}. */
  public Outcome decide(
      ClaimedTask task, DeliveryResult result, Instant now, RandomGenerator random) {
    return switch (result) {
      case DeliveryResult.Accepted(var status, var output) -> new Outcome.Completed(status, output);
      case DeliveryResult.Interrupted() ->
          new Outcome.Released(
              Failure.of(FailureKind.SHUTDOWN, "the node was stopped before the attempt ended"));
      case DeliveryResult.Unreached(var failure) ->
          new Outcome.Released(failure, after(now, unreachedDelay(random)));
      case DeliveryResult.Refused(var failure) -> new Outcome.Dead(failure, false);
      case DeliveryResult.Gone(var failure) -> new Outcome.Dead(failure, task.targetIsOfType());
      case DeliveryResult.Failed(var failure, var retryAfter) ->
          afterFailure(task.attempt(), task.dueAt(), failure, retryAfter, now, random);
    };
  }

  /** Without a delay, an attempt that does not count would be repeated in a tight loop. */
  private static Duration unreachedDelay(RandomGenerator random) {
    return Duration.ofMillis(
        random.nextLong(MIN_UNREACHED_DELAY.toMillis(), MAX_UNREACHED_DELAY.toMillis() + 1));
  }

  /** Retries while attempts are left and {@code maxAge} allows; otherwise the task is dead. */
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
   * The delay after the given attempt. The target's {@code retryAfter} is a lower bound, also for
   * jitter.
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
          case EXPONENTIAL -> 1L << Math.min(number - 1, MAX_DOUBLINGS);
          case LINEAR -> number;
          case FIXED -> 1;
        };
    // Compared by division, because base * factor may overflow.
    return shorter(
        max.dividedBy(factor).compareTo(base) < 0 ? max : base.multipliedBy(factor), MAX_DELAY);
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
    return Duration.between(start, MAX_TIMESTAMP).compareTo(delay) < 0
        ? MAX_TIMESTAMP
        : start.plus(delay);
  }

  private static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) <= 0 ? a : b;
  }
}
