package carillon.delivery.http;

import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A target's response, and the delivery result that it means.
 *
 * @param retryAfter the values of all Retry-After headers
 */
record TargetResponse(int status, List<String> retryAfter, @Nullable String output) {

  /** Removes secrets of the request that the target has echoed. */
  TargetResponse withoutSecretsOf(Target.Http target) {
    if (output == null) {
      return this;
    }
    SentSecrets secrets = SentSecrets.of(target);
    return secrets.isEmpty()
        ? this
        : new TargetResponse(status, retryAfter, secrets.hiddenIn(output));
  }

  DeliveryResult result(StatusRules rules, Instant now) {
    if (status > StatusRules.MAX) {
      return new DeliveryResult.Failed(
          failure(FailureKind.PROTOCOL, "invalid HTTP status from target"), null);
    }
    return switch (rules.of(status)) {
      case SUCCESS -> new DeliveryResult.Accepted(status, output);
      case RETRY -> new DeliveryResult.Failed(failure(), RetryAfter.parse(retryAfter, now));
      case DEAD -> new DeliveryResult.Refused(failure());
      case GONE -> new DeliveryResult.Gone(failure());
    };
  }

  private Failure failure() {
    boolean isRedirect = status >= 300 && status < 400;
    return failure(
        FailureKind.STATUS,
        "HTTP " + status + " from target" + (isRedirect ? " (redirects are not followed)" : ""));
  }

  private Failure failure(FailureKind kind, String message) {
    return new Failure(kind, message, status, output);
  }
}
