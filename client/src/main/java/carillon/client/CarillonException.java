package carillon.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A call that failed: the server rejected it or did not respond. The message is one line. */
public final class CarillonException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** The status of a call without a response. It may have taken effect. */
  public static final int NO_ANSWER = 0;

  static final String INTERRUPTED = "interrupted";

  /** The code of a repeated POST whose first request is still running. */
  private static final String STILL_RUNNING = "idempotency_pending";

  private final int status;
  private final String code;
  private final String detail;

  @SuppressWarnings("serial") // a copy made by List.copyOf of serializable records
  private final List<Problem> errors;

  private final @Nullable Duration retryAfter;

  /**
   * One error in a request.
   *
   * @param pointer JSON pointer into the request
   * @param message what is wrong there
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
    boolean isInDetail = false;
    for (Problem error : errors) {
      String quote = " " + error.pointer() + ": " + error.message();
      if (!isInDetail && (" " + detail).contains(quote)) {
        isInDetail = true; // the detail repeats the first error
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
   * The stable code of the error, such as {@code not-found}; derived from the status if the
   * response has none.
   */
  public String code() {
    return code;
  }

  /** What went wrong, as a sentence. */
  public String detail() {
    return detail;
  }

  /** The errors in an invalid request; empty otherwise. */
  public List<Problem> errors() {
    return errors;
  }

  /** The server's Retry-After, if any. */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }

  /** Whether the same call may succeed later. */
  public boolean isTransient() {
    return switch (status) {
      case NO_ANSWER -> !code.equals(INTERRUPTED);
      case 408, 425, 429, 502, 503, 504 -> true;
      case 409 -> code.equals(STILL_RUNNING);
      default -> false;
    };
  }

  /** Whether the server rejected the content of the call. */
  boolean isAboutContent() {
    return switch (status) {
      case 400, 413, 422 -> true;
      default -> false;
    };
  }
}
