package carillon.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A call that the server refused, or that never reached it. The message is one line for people. */
public final class CarillonException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** The status of a call that got no answer. Whether it took effect is then unknown. */
  public static final int NO_ANSWER = 0;

  static final String INTERRUPTED = "interrupted";

  /** The code of an answer to a repeated POST whose first one has not ended. */
  private static final String STILL_RUNS = "idempotency_pending";

  private final int status;
  private final String code;
  private final String detail;

  @SuppressWarnings("serial") // a copy made by List.copyOf of serializable records
  private final List<Problem> errors;

  private final @Nullable Duration retryAfter;

  /**
   * One thing that is wrong with a request.
   *
   * @param pointer where, as a JSON pointer into the request
   * @param message what
   */
  public record Problem(String pointer, String message) implements java.io.Serializable {}

  CarillonException(
      int status, String code, String detail, List<Problem> errors, @Nullable Throwable cause) {
    this(status, code, detail, errors, null, cause);
  }

  CarillonException(
      int status,
      String code,
      String detail,
      List<Problem> errors,
      @Nullable Duration retryAfter,
      @Nullable Throwable cause) {
    super(line(detail, errors), cause);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.errors = List.copyOf(errors);
    this.retryAfter = retryAfter;
  }

  private static String line(String detail, List<Problem> errors) {
    StringBuilder line = new StringBuilder(detail);
    boolean isQuoted = false;
    for (Problem error : errors) {
      String quote = " " + error.pointer() + ": " + error.message();
      if (!isQuoted && (" " + detail).contains(quote)) {
        isQuoted = true; // the detail has one of them already
        continue;
      }
      line.append("; ").append(error.pointer()).append(' ').append(error.message());
    }
    return line.toString();
  }

  /** The HTTP status, or {@link #NO_ANSWER}. */
  public int status() {
    return status;
  }

  /**
   * The stable code of the error, such as {@code not-found}; made from the status if the answer had
   * none.
   */
  public String code() {
    return code;
  }

  /** What went wrong this time, in words. */
  public String detail() {
    return detail;
  }

  /** For bad input, each thing that is wrong with it; empty otherwise. */
  public List<Problem> errors() {
    return errors;
  }

  /** How long the server asks to wait before the call is repeated, if it does. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }

  /** Whether the same call may well succeed later: no answer, too many calls, or not now. */
  public boolean isTransient() {
    return switch (status) {
      case NO_ANSWER -> !code.equals(INTERRUPTED);
      case 408, 425, 429, 502, 503, 504 -> true;
      case 409 -> code.equals(STILL_RUNS);
      default -> false;
    };
  }

  /** Whether the call was refused for what it said. */
  boolean isAboutContent() {
    return switch (status) {
      case 400, 413, 422 -> true;
      default -> false;
    };
  }
}
