package carillon.model.task;

import org.jspecify.annotations.Nullable;

/**
 * Why one attempt failed.
 *
 * @param status the status code of the response, if one arrived
 * @param output the response body, truncated and sanitized
 */
public record Failure(
    FailureKind kind, String message, @Nullable Integer status, @Nullable String output) {

  public static Failure of(FailureKind kind, String message) {
    return new Failure(kind, message, null, null);
  }

  /** A copy with this appended to the message. */
  Failure and(String more) {
    return new Failure(kind, message + "; " + more, status, output);
  }
}
