package carillon.api.error;

import java.util.List;
import java.util.Map;

/** An error that the API returns as a problem document. */
public final class ApiException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final ErrorCode code;
  private final transient List<FieldError> errors;
  private final transient Map<String, String> headers;
  private final boolean closes;

  private ApiException(
      ErrorCode code,
      String detail,
      List<FieldError> errors,
      Map<String, String> headers,
      boolean closes) {
    super(detail, null, false, false); // a response, not a bug: no stack trace
    this.code = code;
    this.errors = List.copyOf(errors);
    this.headers = Map.copyOf(headers);
    this.closes = closes;
  }

  public ApiException(ErrorCode code, String detail) {
    this(code, detail, List.of(), Map.of(), false);
  }

  public ApiException(ErrorCode code, String detail, List<FieldError> errors) {
    this(code, detail, errors, Map.of(), false);
  }

  public ApiException with(String header, String value) {
    return new ApiException(code, detail(), errors, Map.of(header, value), closes);
  }

  /**
   * Closes the connection after this error, because the bytes that follow cannot be trusted or are
   * not needed.
   */
  public ApiException closing() {
    return new ApiException(code, detail(), errors, headers, true);
  }

  /** Adds the place of the error to its detail. */
  public ApiException at(String place) {
    return new ApiException(code, place + ": " + detail(), errors, headers, closes);
  }

  public ErrorCode code() {
    return code;
  }

  public String detail() {
    return String.valueOf(getMessage());
  }

  public List<FieldError> errors() {
    return errors;
  }

  public Map<String, String> headers() {
    return headers;
  }

  public boolean closes() {
    return closes;
  }
}
