package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import io.helidon.http.DirectHandler.EventType;
import io.helidon.http.HeaderNames;
import io.helidon.http.RequestException;
import io.helidon.http.ServerRequestHeaders;
import io.helidon.http.Status;
import org.jspecify.annotations.Nullable;

/** Turns errors of the web server into errors of the API. */
final class TransportProblem {

  private TransportProblem() {}

  static ApiException of(RequestException e) {
    String detail = e.eventType() == EventType.OTHER ? e.getMessage() : null;
    return of(e.status(), detail, ServerRequestHeaders.create());
  }

  static ApiException of(Status status, @Nullable String detail, ServerRequestHeaders headers) {
    ErrorCode code =
        switch (status.code()) {
          case 408 -> ErrorCode.REQUEST_TIMEOUT;
          case 413 -> ErrorCode.BODY_TOO_LARGE;
          case 414 -> ErrorCode.URI_TOO_LONG;
          case 431 -> ErrorCode.HEADERS_TOO_LARGE;
          case 503 -> ErrorCode.OVERLOADED;
          case 505 -> ErrorCode.HTTP_VERSION_NOT_SUPPORTED;
          // The server reports a compressed body as a bad request, and a request line that it
          // cannot parse as an internal error.
          default ->
              headers.contains(HeaderNames.CONTENT_ENCODING)
                  ? ErrorCode.ENCODING_NOT_SUPPORTED
                  : ErrorCode.BAD_REQUEST;
        };
    return new ApiException(code, detail == null ? code.meaning() : detail);
  }
}
