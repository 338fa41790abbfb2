package carillon.api.targets;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.json.Fields;
import carillon.model.task.RetryPolicy;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Reads retry policies; missing fields have the defaults. */
public final class RetryFields {

  private static final Duration MIN_DELAY = Duration.ofMillis(1);

  private RetryFields() {}

  public static @Nullable RetryPolicy read(Fields parent) {
    Fields fields = parent.object("retry");
    if (fields == null) {
      return null;
    }
    Integer maxAttempts = fields.integer("maxAttempts", 1, Limits.ATTEMPTS);
    Duration maxAge = fields.duration("maxAge", Duration.ofSeconds(1), Limits.HORIZON);
    RetryPolicy.Backoff backoff = fields.choice("backoff", RetryPolicy.Backoff.class);
    Duration base = fields.duration("base", MIN_DELAY, Limits.BACKOFF_MAX);
    Duration max = fields.duration("max", MIN_DELAY, Limits.BACKOFF_MAX);
    RetryPolicy.Jitter jitter = fields.choice("jitter", RetryPolicy.Jitter.class);
    fields.done();

    RetryPolicy defaults = RetryPolicy.DEFAULT;
    RetryPolicy policy =
        new RetryPolicy(
            maxAttempts == null ? defaults.maxAttempts() : maxAttempts,
            maxAge,
            backoff == null ? defaults.backoff() : backoff,
            base == null ? defaults.base() : base,
            max == null ? defaults.max() : max,
            jitter == null ? defaults.jitter() : jitter);
    check(policy, fields);
    return policy;
  }

  private static void check(RetryPolicy policy, Fields fields) {
    if (policy.base().compareTo(policy.max()) > 0) {
      fields.wrong(
          "base",
          ErrorCode.OUT_OF_RANGE,
          "must not be more than max: " + policy.base() + " > " + policy.max());
      return;
    }
    Duration total = total(policy);
    if (policy.maxAge() == null && total.compareTo(Limits.HORIZON) > 0) {
      fields.wrong(
          "max",
          ErrorCode.BEYOND_HORIZON,
          "the delays add up to " + total.toDays() + " days; set maxAge or shorten them");
    }
  }

  /** The sum of all delays, before jitter. */
  private static Duration total(RetryPolicy policy) {
    Duration total = Duration.ZERO;
    Duration delay = policy.base();
    for (int attempt = 1; attempt < policy.maxAttempts(); attempt++) {
      total = total.plus(delay);
      delay =
          switch (policy.backoff()) {
            case EXPONENTIAL -> delay.multipliedBy(2);
            case LINEAR -> delay.plus(policy.base());
            case FIXED -> delay;
          };
      delay = delay.compareTo(policy.max()) > 0 ? policy.max() : delay;
    }
    return total;
  }
}
