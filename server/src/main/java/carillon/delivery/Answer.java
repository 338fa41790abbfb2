package carillon.delivery;

import carillon.model.DeliveryResult;
import carillon.model.Failure;
import carillon.model.FailureKind;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a target answered, and what that means.
 *
 * @param retryAfter the values of all headers of that name
 */
record Answer(int status, List<String> retryAfter, @Nullable String output) {

  private static final Pattern SECONDS = Pattern.compile("[0-9]{1,18}");

  DeliveryResult verdict(Instant now) {
    if (status > 599) {
      return new DeliveryResult.Failed(
          failure(FailureKind.PROTOCOL, "the target answered with a status that does not exist"),
          null);
    }
    if (status < 300) {
      return new DeliveryResult.Accepted(status, output);
    }
    String answered = "the target answered " + status;
    if (status < 400) {
      return new DeliveryResult.Refused(
          failure(FailureKind.STATUS, answered + ", and redirects are not followed"));
    }
    Failure failure = failure(FailureKind.STATUS, answered);
    if (status == 410) {
      return new DeliveryResult.Gone(failure);
    }
    return isWorthRetrying()
        ? new DeliveryResult.Failed(failure, waitFrom(now))
        : new DeliveryResult.Refused(failure);
  }

  private boolean isWorthRetrying() {
    return status == 408 || status == 425 || status == 429 || status >= 500;
  }

  private Failure failure(FailureKind kind, String message) {
    return new Failure(kind, message, status, output);
  }

  /** Null unless the target said exactly one thing that we understand. */
  private @Nullable Duration waitFrom(Instant now) {
    if (retryAfter.size() != 1) {
      return null;
    }
    String value = retryAfter.getFirst().strip();
    if (SECONDS.matcher(value).matches()) {
      return Duration.ofSeconds(Long.parseLong(value));
    }
    try {
      Instant then = ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
      return then.isAfter(now) ? Duration.between(now, then) : null;
    } catch (DateTimeException e) {
      return null;
    }
  }
}
