package carillon.model.task;

import org.jspecify.annotations.Nullable;

/**
 * What went wrong in one attempt.
 *
 * @param status the status code on the wire, if one arrived
 * @param output what the target said with it, cut and cleaned
 */
public record Failure(
    FailureKind kind, String message, @Nullable Integer status, @Nullable String output) {

  public static Failure of(FailureKind kind, String message) {
    return new Failure(kind, message, null, null);
  }

  /** The same, with something to add. */
  Failure and(String more) {
    return new Failure(kind, message + "; " + more, status, output);
  }
}
