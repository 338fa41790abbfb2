package carillon.client;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** A call that the server refused, or that never reached it. The message is one line for people. */
public final class CarillonException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** The status of a call that got no answer. Whether it took effect is then unknown. */
  public static final int NO_ANSWER = 0;

  private final int status;
  private final String code;
  private final String detail;

  @SuppressWarnings("serial") // a copy made by List.copyOf of serializable records
  private final List<Problem> errors;

  /**
   * One thing that is wrong with a request.
   *
   * @param pointer where, as a JSON pointer into the request
   * @param message what
   */
  public record Problem(String pointer, String message) implements java.io.Serializable {}

  CarillonException(
      int status, String code, String detail, List<Problem> errors, @Nullable Throwable cause) {
    super(line(detail, errors), cause);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.errors = List.copyOf(errors);
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
}
