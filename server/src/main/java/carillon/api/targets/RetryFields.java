package carillon.api.targets;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.json.Fields;
import carillon.model.task.RetryPolicy;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Reads retry policies; what is left out has the defaults. */
public final class RetryFields {

  private static final Duration SHORTEST = Duration.ofMillis(1);

  private RetryFields() {}

  public static @Nullable RetryPolicy read(Fields parent) {
    Fields fields = parent.object("retry");
    if (fields == null) {
      return null;
    }
    Integer maxAttempts = fields.integer("maxAttempts", 1, Limits.ATTEMPTS);
    Duration maxAge = fields.duration("maxAge", Duration.ofSeconds(1), Limits.HORIZON);
    RetryPolicy.Backoff backoff = fields.choice("backoff", RetryPolicy.Backoff.class);
    Duration base = fields.duration("base", SHORTEST, Limits.BACKOFF_MAX);
    Duration max = fields.duration("max", SHORTEST, Limits.BACKOFF_MAX);
    RetryPolicy.Jitter jitter = fields.choice("jitter", RetryPolicy.Jitter.class);
    fields.done();

    RetryPolicy usual = RetryPolicy.DEFAULT;
    RetryPolicy policy =
        new RetryPolicy(
            maxAttempts == null ? usual.maxAttempts() : maxAttempts,
            maxAge,
            backoff == null ? usual.backoff() : backoff,
            base == null ? usual.base() : base,
            max == null ? usual.max() : max,
            jitter == null ? usual.jitter() : jitter);
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

  /** All delays together, before jitter. */
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
