package carillon.api.connection;

import carillon.api.connection.RequestFraming.Part;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The request line and headers of one request: checked, and rewritten as plain HTTP/1.1. */
final class RequestHead {

  private static final int MAX_LENGTH_DIGITS = 18;
  private static final byte[] ADDED_HOST =
      "Host: localhost\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final String HTTP_1 = "HTTP/1.";
  private static final List<String> SCHEMES = List.of("http://", "https://");

  private final Received received;
  private boolean http10;
  private boolean wantsClose;
  private boolean hasHost;
  private boolean chunked;
  private long length = -1;
  private int expectStart = -1;
  private int expectEnd;

  RequestHead(Received received) {
    this.received = received;
  }

  boolean isHttp10() {
    return http10;
  }

  /** Whether the client closes after this request, because of its version or by a header. */
  boolean wantsClose() {
    return wantsClose;
  }

  boolean isChunked() {
    return chunked;
  }

  /** The Content-Length; -1 without one. */
  long length() {
    return length;
  }

  /** Waits for the whole head and takes it off the received bytes. */
  byte[] read() {
    int headEnd = waitForEnd();
    parse(headEnd);
    if (!http10) {
      return received.take(headEnd - received.start());
    }
    byte[] head = asHttp11(headEnd);
    received.skipTo(headEnd);
    return head;
  }

  /** Skips one empty line before the head, as HTTP requires. */
  private int waitForEnd() {
    int lineStart = 0; // relative to the start, as all positions here
    int lines = 0;
    boolean skipped = false;
    for (int i = 0; ; i++) {
      if (received.start() + i == received.end()) {
        received.require(Part.HEAD, Received.MAX_HEAD_BYTES);
      }
      if (lines == 0 && i - lineStart > Limits.REQUEST_LINE_BYTES) {
        throw Malformed.request(ErrorCode.URI_TOO_LONG);
      }
      byte next = received.at(received.start() + i);
      boolean afterCr = i > lineStart && received.at(received.start() + i - 1) == '\r';
      if ((next == '\n') != afterCr) {
        throw Malformed.request("a line of the head does not end with CR LF");
      }
      if (next != '\n') {
        continue;
      }
      boolean empty = i - lineStart == 1;
      lineStart = i + 1;
      if (!empty) {
        lines++;
      } else if (lines > 0) {
        return received.start() + lineStart;
      } else if (skipped) {
        throw Malformed.request("the request line is missing");
      } else {
        skipped = true;
        received.skipTo(received.start() + lineStart);
        lineStart = 0;
        i = -1;
      }
      if (lines > Limits.HEADERS + 1 || (lines > 1 && i > Received.MAX_HEAD_BYTES)) {
        throw Malformed.request(ErrorCode.HEADERS_TOO_LARGE);
      }
    }
  }

  private void parse(int headEnd) {
    int endOfLine = received.endOfLine(received.start());
    requestLine(endOfLine);
    int headers = endOfLine + 2;
    if (headEnd - headers > Limits.HEADER_BYTES) {
      throw Malformed.request(ErrorCode.HEADERS_TOO_LARGE);
    }
    for (int line = headers; line < headEnd - 2; line = endOfLine + 2) {
      endOfLine = received.endOfLine(line);
      header(line, endOfLine);
    }
    if (chunked && (length >= 0 || http10)) {
      throw Malformed.request("Content-Length and Transfer-Encoding contradict each other");
    }
    wantsClose |= http10;
  }

  private void requestLine(int endOfLine) {
    int from = received.start();
    int method = received.endOfToken(from, endOfLine);
    int target = method + 1;
    int space = target;
    while (space < endOfLine && received.at(space) > ' ' && received.at(space) != 0x7f) {
      space++;
    }
    if (method == from || method >= endOfLine || received.at(method) != ' ') {
      throw Malformed.request("the request line does not start with a method and a space");
    }
    if (space == target || space >= endOfLine || received.at(space) != ' ') {
      throw Malformed.request(
          "the request line must be a method, a URL and HTTP/1.1; percent-encode other characters"
              + " in the URL");
    }
    http10 = isHttp10(space + 1, endOfLine);
    if (received.at(target) != '/') {
      dropAuthority(target, space);
    }
  }

  private boolean isHttp10(int version, int endOfLine) {
    boolean isVersion = endOfLine - version == HTTP_1.length() + 1;
    int minor = received.at(endOfLine - 1);
    if (isVersion && received.startsWith(version, HTTP_1) && (minor == '0' || minor == '1')) {
      return minor == '0';
    }
    throw isVersion && received.startsWith(version, "HTTP/")
        ? Malformed.request(ErrorCode.HTTP_VERSION_NOT_SUPPORTED)
        : Malformed.request("the request line does not end with HTTP/1.1");
  }

  /**
   * Rewrites a target such as {@code http://host/path} as {@code /path}. Every server must accept
   * the former, and this one serves the same under any name.
   */
  private void dropAuthority(int target, int targetEnd) {
    int authority = target;
    for (String scheme : SCHEMES) {
      if (targetEnd - target > scheme.length() && received.startsWithIgnoringCase(target, scheme)) {
        authority = target + scheme.length();
      }
    }
    if (authority == target) {
      return; // not a path, so it will not be found
    }
    int path = authority;
    while (path < targetEnd && received.at(path) != '/' && received.at(path) != '?') {
      if (received.at(path) == '@' || received.at(path) == '#') {
        throw Malformed.request(
            "the URL of the request line must have only a host before its path");
      }
      path++;
    }
    if (path == authority) {
      throw Malformed.request("the URL of the request line has no host");
    }
    if (path == targetEnd || received.at(path) == '?') {
      received.set(--path, '/');
    }
    received.moveFirst(target - received.start(), path);
  }

  private void header(int from, int endOfLine) {
    int colon = received.colon(from, endOfLine, "a header line");
    for (int i = colon + 1; i < endOfLine; i++) {
      if (Received.isControl(received.at(i))) {
        throw Malformed.request("a header has a control character");
      }
    }
    switch (colon - from) {
      case 4 -> hasHost |= received.startsWithIgnoringCase(from, "host");
      case 6 -> {
        if (received.startsWithIgnoringCase(from, "expect")) {
          expectStart = from;
          expectEnd = endOfLine + 2;
        }
      }
      case 10 -> {
        if (received.startsWithIgnoringCase(from, "connection")) {
          wantsClose |= hasClose(received.trimmed(colon + 1, endOfLine));
        }
      }
      case 14 -> {
        if (received.startsWithIgnoringCase(from, "content-length")) {
          contentLength(received.trimmed(colon + 1, endOfLine));
        }
      }
      case 17 -> {
        if (received.startsWithIgnoringCase(from, "transfer-encoding")) {
          transferEncoding(received.trimmed(colon + 1, endOfLine));
        }
      }
      default -> {
        // does not concern the framing
      }
    }
  }

  private void contentLength(String value) {
    boolean valid = length < 0 && !value.isEmpty() && value.length() <= MAX_LENGTH_DIGITS;
    for (int i = 0; valid && i < value.length(); i++) {
      valid = value.charAt(i) >= '0' && value.charAt(i) <= '9';
    }
    if (!valid) {
      throw Malformed.request("Content-Length must be one number of bytes");
    }
    length = Long.parseLong(value);
  }

  private void transferEncoding(String value) {
    if (chunked || !value.equalsIgnoreCase("chunked")) {
      throw Malformed.request("send Transfer-Encoding: chunked once, or omit the header");
    }
    chunked = true;
  }

  private static boolean hasClose(String value) {
    for (String each : value.split(",", -1)) {
      if (each.strip().equalsIgnoreCase("close")) {
        return true;
      }
    }
    return false;
  }

  /**
   * Rewrites a request of HTTP/1.0, which may come without a Host header and in which an Expect
   * header has no meaning.
   */
  private byte[] asHttp11(int headEnd) {
    int start = received.start();
    int expect = expectStart < 0 ? 0 : expectEnd - expectStart;
    byte[] added = hasHost ? new byte[0] : ADDED_HOST;
    byte[] head = new byte[headEnd - start - expect + added.length];
    int line = received.endOfLine(start) + 2;
    int to = line - start;
    received.copy(start, head, 0, to);
    head[to - 3] = '1';
    System.arraycopy(added, 0, head, to, added.length);
    to += added.length;
    int before = (expect == 0 ? headEnd : expectStart) - line;
    received.copy(line, head, to, before);
    if (expect > 0) {
      received.copy(expectEnd, head, to + before, headEnd - expectEnd);
    }
    return head;
  }
}
