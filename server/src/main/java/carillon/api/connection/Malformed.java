package carillon.api.connection;

import carillon.api.error.ErrorCode;
import io.helidon.http.DirectHandler;
import io.helidon.http.RequestException;
import io.helidon.http.Status;

/** Rejections of bytes that are not a valid HTTP request. The connection is closed after them. */
final class Malformed {

  private Malformed() {}

  static RequestException request(String message) {
    return request(ErrorCode.BAD_REQUEST, message);
  }

  static RequestException request(ErrorCode code) {
    return request(code, code.meaning());
  }

  static RequestException request(ErrorCode code, String message) {
    return RequestException.builder()
        .type(DirectHandler.EventType.OTHER)
        .status(Status.create(code.status()))
        .message(message)
        .safeMessage(true)
        .setKeepAlive(false)
        .build();
  }
}
