package carillon.api.connection;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import io.helidon.http.DirectHandler;
import io.helidon.http.RequestException;
import io.helidon.http.Status;
import io.helidon.webserver.CloseConnectionException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds where each request on a connection starts and ends, before the server's parser sees a byte.
 * It refuses whatever two parsers could understand differently, and hands over one request at a
 * time in its plainest form: HTTP/1.0 as HTTP/1.1, and chunks without extensions and trailers,
 * never larger than what has arrived.
 *
 * <p>The server's own parser does not check the ends of chunks or empty header names, holds a chunk
 * in memory until all of it is there, knows no HTTP/1.0, and goes on to read the next request from
 * a body that nobody has read.
 */
public final class RequestFraming {

  /** Longer extensions than anybody sends; they are skipped, so they must not be endless. */
  private static final int EXTENSION_BYTES = 4 << 10;

  private static final int MAX_LENGTH_DIGITS = 18;
  private static final int MAX_CHUNK_DIGITS = 15;
  private static final byte[] ADDED_HOST = ascii("Host: localhost\r\n");
  private static final byte[] LAST_CHUNK = ascii("0\r\n\r\n");
  private static final byte[] HTTP_1 = ascii("HTTP/1.");

  /** Room for the size of a chunk: six hexadecimal digits, with leading zeros, and CR LF. */
  private static final int CHUNK_PREFIX_BYTES = 8;

  /** What is read next. */
  enum Part {
    /** Nothing of a request has arrived yet. */
    NEXT_REQUEST,
    HEAD,
    BODY
  }

  /** Where the bytes come from. */
  interface Wire {

    /** Waits for bytes; null at the end of the connection. */
    byte @Nullable [] read(Part part);

    /**
     * A head is complete and its body follows.
     *
     * @param length -1 if it is not known in advance
     */
    void bodyStarts(long length);

    /** Whether the end of the connection came because a client was too slow. */
    boolean isCut();
  }

  private enum Body {
    NONE,
    LENGTH,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_CR,
    CHUNK_LF,
    TRAILERS
  }

  private static final List<String> SCHEMES = List.of("http://", "https://");

  private final Wire wire;

  // What has arrived and is not handed over yet: buffer[start, end).
  private byte[] buffer = new byte[0];
  private int start;
  private int end;

  private Body body = Body.NONE;
  private long remaining;
  private int digits;
  private int extensionBytes;

  private boolean answered = true;
  private boolean ends;
  private boolean broken;

  // Of the current request.
  private boolean http10;
  private boolean wantsClose;
  private boolean hasHost;
  private boolean chunked;
  private long length;
  private int expectStart;
  private int expectEnd;

  RequestFraming(Wire wire) {
    this.wire = wire;
  }

  /** Whether the client closes after this request, by its version or by what it says. */
  public boolean wantsClose() {
    return wantsClose;
  }

  public boolean isHttp10() {
    return http10;
  }

  /**
   * The current request is answered.
   *
   * @param ends nothing more is read from this connection
   */
  public void answered(boolean ends) {
    answered = true;
    this.ends |= ends || body != Body.NONE;
  }

  /** Whether all of the current request is handed over. */
  boolean isBodyComplete() {
    return body == Body.NONE;
  }

  /** Whether the client may still be sending something that nobody is going to read. */
  boolean isUnread() {
    return broken || body != Body.NONE || start < end;
  }

  /**
   * The next bytes for the server's parser: a head, or some of its body; null if there are no more.
   *
   * @throws RequestException if they are no HTTP
   * @throws CloseConnectionException if they end in the middle, or come too slowly
   */
  byte @Nullable [] next() {
    if (ends || broken) {
      return null;
    }
    boolean inHead = body == Body.NONE;
    if (inHead && !answered) {
      // The parser wants more of a request than there is: it must not get the next one.
      ends = true;
      return null;
    }
    try {
      if (inHead) {
        return head();
      }
      return body == Body.LENGTH ? some() : chunks();
    } catch (RequestException e) {
      broken = true;
      throw e;
    }
  }

  private byte @Nullable [] head() {
    if (start == end && !fill(Part.NEXT_REQUEST)) {
      return null;
    }
    int headEnd = headEnd();
    parse(headEnd);
    answered = false;
    byte[] head =
        http10
            ? asHttp11(headEnd)
            : start == 0 && headEnd == buffer.length
                ? buffer
                : Arrays.copyOfRange(buffer, start, headEnd);
    start = headEnd;
    if (chunked || length > 0) {
      body = chunked ? Body.CHUNK_SIZE : Body.LENGTH;
      remaining = chunked ? 0 : length;
      digits = 0;
      extensionBytes = 0;
      wire.bodyStarts(chunked ? -1 : length);
    }
    return head;
  }

  /** Waits for a whole head and skips one empty line before it, as HTTP asks for. */
  private int headEnd() {
    int lineStart = 0; // as all here: from start
    int lines = 0;
    boolean skipped = false;
    for (int i = 0; ; i++) {
      if (start + i == end) {
        fillOrEnd(Part.HEAD);
      }
      if (lines == 0 && i - lineStart > Limits.REQUEST_LINE_BYTES) {
        throw bad(ErrorCode.URI_TOO_LONG, ErrorCode.URI_TOO_LONG.meaning());
      }
      byte next = buffer[start + i];
      boolean afterCr = i > lineStart && buffer[start + i - 1] == '\r';
      if ((next == '\n') != afterCr) {
        throw bad("a line of the head does not end with CR LF");
      }
      if (next != '\n') {
        continue;
      }
      boolean empty = i - lineStart == 1;
      lineStart = i + 1;
      if (!empty) {
        lines++;
      } else if (lines > 0) {
        return start + lineStart;
      } else if (skipped) {
        throw bad("there is no request line");
      } else {
        skipped = true;
        start += lineStart;
        lineStart = 0;
        i = -1;
      }
      if (lines > Limits.HEADERS + 1
          || (lines > 1 && i > Limits.REQUEST_LINE_BYTES + Limits.HEADER_BYTES)) {
        throw bad(ErrorCode.HEADERS_TOO_LARGE, ErrorCode.HEADERS_TOO_LARGE.meaning());
      }
    }
  }

  private void parse(int headEnd) {
    hasHost = false;
    chunked = false;
    wantsClose = false;
    length = -1;
    expectStart = -1;
    int line = start;
    int eol = eol(line);
    requestLine(line, eol);
    int headers = eol + 2;
    if (headEnd - headers > Limits.HEADER_BYTES) {
      throw bad(ErrorCode.HEADERS_TOO_LARGE, ErrorCode.HEADERS_TOO_LARGE.meaning());
    }
    for (line = headers; line < headEnd - 2; line = eol + 2) {
      eol = eol(line);
      header(line, eol);
    }
    if (chunked && (length >= 0 || http10)) {
      throw bad("Content-Length and Transfer-Encoding contradict each other");
    }
    wantsClose |= http10;
  }

  private int eol(int from) {
    int i = from;
    while (buffer[i] != '\r') {
      i++;
    }
    return i;
  }

  private void requestLine(int from, int eol) {
    int method = token(from, eol);
    int target = method + 1;
    int space = target;
    while (space < eol && buffer[space] > ' ' && buffer[space] != 0x7f) {
      space++;
    }
    if (method == from || method >= eol || buffer[method] != ' ') {
      throw bad("the request line does not start with a method and a space");
    }
    if (space == target || space >= eol || buffer[space] != ' ') {
      throw bad(
          "the request line must be a method, a URL and HTTP/1.1; percent-encode other characters"
              + " in the URL");
    }
    int version = space + 1;
    boolean known =
        eol - version == HTTP_1.length + 1
            && Arrays.equals(buffer, version, eol - 1, HTTP_1, 0, HTTP_1.length);
    int minor = buffer[eol - 1];
    if (!known || (minor != '0' && minor != '1')) {
      boolean isVersion = eol - version == 8 && startsWith(version, "HTTP/");
      throw isVersion
          ? bad(
              ErrorCode.HTTP_VERSION_NOT_SUPPORTED, ErrorCode.HTTP_VERSION_NOT_SUPPORTED.meaning())
          : bad("the request line does not end with HTTP/1.1");
    }
    http10 = minor == '0';
    if (buffer[target] != '/') {
      dropAuthority(from, target, space);
    }
  }

  /**
   * Gives a target such as {@code http://host/path} the form {@code /path}. Every server must take
   * the former, and this one is the same whatever it is called.
   */
  private void dropAuthority(int from, int target, int targetEnd) {
    int authority = target;
    for (String scheme : SCHEMES) {
      if (targetEnd - target > scheme.length() && isName(target, scheme)) {
        authority = target + scheme.length();
      }
    }
    if (authority == target) {
      return; // no path, and so not found
    }
    int path = authority;
    while (path < targetEnd && buffer[path] != '/' && buffer[path] != '?') {
      if (buffer[path] == '@' || buffer[path] == '#') {
        throw bad("the URL of the request line has something else than a host before its path");
      }
      path++;
    }
    if (path == authority) {
      throw bad("the URL of the request line has no host");
    }
    if (path == targetEnd || buffer[path] == '?') {
      buffer[--path] = '/';
    }
    // The method moves up to the path: what was before it has been read.
    int length = target - from;
    System.arraycopy(buffer, from, buffer, path - length, length);
    start = path - length;
  }

  private void header(int from, int eol) {
    int colon = token(from, eol);
    if (colon == from || colon == eol || buffer[colon] != ':') {
      throw bad("a header line must be a name, a colon and a value");
    }
    for (int i = colon + 1; i < eol; i++) {
      byte each = buffer[i];
      if ((each >= 0 && each < ' ' && each != '\t') || each == 0x7f) {
        throw bad("a header has a control character");
      }
    }
    switch (colon - from) {
      case 4 -> hasHost |= isName(from, "host");
      case 6 -> {
        if (isName(from, "expect")) {
          expectStart = from;
          expectEnd = eol + 2;
        }
      }
      case 10 -> {
        if (isName(from, "connection")) {
          wantsClose |= hasClose(value(colon, eol));
        }
      }
      case 14 -> {
        if (isName(from, "content-length")) {
          length(value(colon, eol));
        }
      }
      case 17 -> {
        if (isName(from, "transfer-encoding")) {
          if (chunked || !value(colon, eol).equalsIgnoreCase("chunked")) {
            throw bad("Transfer-Encoding must be chunked, once, or be left out");
          }
          chunked = true;
        }
      }
      default -> {
        // means nothing here
      }
    }
  }

  private void length(String value) {
    boolean valid = length < 0 && !value.isEmpty() && value.length() <= MAX_LENGTH_DIGITS;
    for (int i = 0; valid && i < value.length(); i++) {
      valid = value.charAt(i) >= '0' && value.charAt(i) <= '9';
    }
    if (!valid) {
      throw bad("Content-Length must be one number of bytes");
    }
    length = Long.parseLong(value);
  }

  private static boolean hasClose(String value) {
    for (String each : value.split(",", -1)) {
      if (each.strip().equalsIgnoreCase("close")) {
        return true;
      }
    }
    return false;
  }

  private String value(int colon, int eol) {
    int from = colon + 1;
    int to = eol;
    while (from < to && isBlank(buffer[from])) {
      from++;
    }
    while (to > from && isBlank(buffer[to - 1])) {
      to--;
    }
    return new String(buffer, from, to - from, StandardCharsets.ISO_8859_1);
  }

  private static boolean isBlank(byte each) {
    return each == ' ' || each == '\t';
  }

  private boolean isName(int from, String lowerCase) {
    for (int i = 0; i < lowerCase.length(); i++) {
      if (lower(buffer[from + i]) != lowerCase.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  private static int lower(byte each) {
    return each >= 'A' && each <= 'Z' ? each + ('a' - 'A') : each;
  }

  private boolean startsWith(int from, String text) {
    for (int i = 0; i < text.length(); i++) {
      if (buffer[from + i] != text.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** The end of what may be a method or the name of a header. */
  private int token(int from, int to) {
    int i = from;
    while (i < to && isTokenCharacter(buffer[i])) {
      i++;
    }
    return i;
  }

  private static boolean isTokenCharacter(byte each) {
    return (each >= 'a' && each <= 'z')
        || (each >= 'A' && each <= 'Z')
        || (each >= '0' && each <= '9')
        || (each > 0 && "!#$%&'*+-.^_`|~".indexOf(each) >= 0);
  }

  /**
   * Gives a request of HTTP/1.0 the form of HTTP/1.1. It may come without Host, and an Expect in it
   * means nothing.
   */
  private byte[] asHttp11(int headEnd) {
    int expect = expectStart < 0 ? 0 : expectEnd - expectStart;
    byte[] added = hasHost ? new byte[0] : ADDED_HOST;
    byte[] head = new byte[headEnd - start - expect + added.length];
    int line = eol(start) + 2;
    int to = line - start;
    System.arraycopy(buffer, start, head, 0, to);
    head[to - 3] = '1';
    System.arraycopy(added, 0, head, to, added.length);
    to += added.length;
    int before = (expect == 0 ? headEnd : expectStart) - line;
    System.arraycopy(buffer, line, head, to, before);
    if (expect > 0) {
      System.arraycopy(buffer, expectEnd, head, to + before, headEnd - expectEnd);
    }
    return head;
  }

  /** Bytes of a body whose length is known. */
  private byte[] some() {
    if (start == end) {
      fillOrEnd(Part.BODY);
    }
    int available = (int) Math.min(remaining, end - start);
    byte[] some =
        start == 0 && available == buffer.length
            ? buffer
            : Arrays.copyOfRange(buffer, start, start + available);
    start += available;
    remaining -= available;
    if (remaining == 0) {
      body = Body.NONE;
    }
    return some;
  }

  /** All that has arrived of a chunked body, as one chunk, and the last one after it. */
  private byte[] chunks() {
    while (true) {
      if (start == end) {
        fillOrEnd(Part.BODY);
      }
      byte[] out = new byte[CHUNK_PREFIX_BYTES + (end - start) + 2 + LAST_CHUNK.length];
      int to = CHUNK_PREFIX_BYTES;
      while (start < end && body != Body.NONE) {
        if (body == Body.CHUNK_DATA) {
          int available = (int) Math.min(remaining, end - start);
          System.arraycopy(buffer, start, out, to, available);
          to += available;
          start += available;
          remaining -= available;
          if (remaining == 0) {
            body = Body.CHUNK_CR;
          }
        } else if (body == Body.TRAILERS) {
          trailers();
        } else {
          chunkFrame(buffer[start++]);
        }
      }
      int data = to - CHUNK_PREFIX_BYTES;
      if (data > 0) {
        putSize(data, out);
        out[to++] = '\r';
        out[to++] = '\n';
      }
      if (body == Body.NONE) {
        System.arraycopy(LAST_CHUNK, 0, out, to, LAST_CHUNK.length);
        to += LAST_CHUNK.length;
      }
      if (data > 0 || body == Body.NONE) {
        return Arrays.copyOfRange(out, data > 0 ? 0 : CHUNK_PREFIX_BYTES, to);
      }
    }
  }

  private static void putSize(int size, byte[] out) {
    for (int i = CHUNK_PREFIX_BYTES - 3, rest = size; i >= 0; i--, rest >>= 4) {
      out[i] = (byte) Character.forDigit(rest & 0xf, 16);
    }
    out[CHUNK_PREFIX_BYTES - 2] = '\r';
    out[CHUNK_PREFIX_BYTES - 1] = '\n';
  }

  /** One byte of what stands around the data of chunks. */
  private void chunkFrame(byte next) {
    switch (body) {
      case CHUNK_SIZE -> {
        int digit = Character.digit(next & 0x7f, 16);
        if (next >= 0 && digit >= 0) {
          if (++digits > MAX_CHUNK_DIGITS) {
            throw bad("the size of a chunk has too many digits");
          }
          remaining = remaining * 16 + digit;
        } else if (digits > 0 && next == ';') {
          body = Body.CHUNK_EXTENSION;
        } else if (digits > 0 && next == '\r') {
          body = Body.CHUNK_SIZE_LF;
        } else {
          throw bad("the size of a chunk is no hexadecimal number");
        }
      }
      case CHUNK_EXTENSION -> {
        if (next == '\r') {
          body = Body.CHUNK_SIZE_LF;
        } else if ((next >= 0 && next < ' ' && next != '\t') || next == 0x7f) {
          throw bad("a chunk extension has a control character");
        } else if (++extensionBytes > EXTENSION_BYTES) {
          throw bad("the chunk extensions are too long");
        }
      }
      case CHUNK_SIZE_LF -> {
        expect(next, '\n');
        digits = 0;
        body = remaining == 0 ? Body.TRAILERS : Body.CHUNK_DATA;
      }
      case CHUNK_CR -> {
        expect(next, '\r');
        body = Body.CHUNK_LF;
      }
      default -> { // CHUNK_LF
        expect(next, '\n');
        body = Body.CHUNK_SIZE;
      }
    }
  }

  private static void expect(byte found, char wanted) {
    if (found != wanted) {
      throw bad("a chunk does not end with CR LF where its size says");
    }
  }

  /** Checks and drops what follows the last chunk: nothing here has a use for it. */
  private void trailers() {
    int lineStart = start;
    int lines = 0;
    for (int i = start; ; i++) {
      if (i == end) {
        int from = start;
        fillOrEnd(Part.BODY);
        lineStart -= from - start;
        i -= from - start;
      }
      boolean afterCr = i > lineStart && buffer[i - 1] == '\r';
      if ((buffer[i] == '\n') != afterCr) {
        throw bad("a trailer line does not end with CR LF");
      }
      if (buffer[i] != '\n') {
        continue;
      }
      if (i - lineStart == 1) {
        start = i + 1;
        body = Body.NONE;
        return;
      }
      trailer(lineStart, i - 1);
      lineStart = i + 1;
      if (++lines > Limits.HEADERS || i - start > Limits.HEADER_BYTES) {
        throw bad(ErrorCode.HEADERS_TOO_LARGE, ErrorCode.HEADERS_TOO_LARGE.meaning());
      }
    }
  }

  private void trailer(int from, int eol) {
    int colon = token(from, eol);
    if (colon == from || colon == eol || buffer[colon] != ':') {
      throw bad("a trailer line must be a name, a colon and a value");
    }
  }

  private void fillOrEnd(Part part) {
    if (part != Part.BODY && end - start > Limits.REQUEST_LINE_BYTES + Limits.HEADER_BYTES) {
      throw bad(ErrorCode.HEADERS_TOO_LARGE, ErrorCode.HEADERS_TOO_LARGE.meaning());
    }
    if (part == Part.BODY && body == Body.TRAILERS && end - start > Limits.HEADER_BYTES) {
      throw bad(ErrorCode.HEADERS_TOO_LARGE, ErrorCode.HEADERS_TOO_LARGE.meaning());
    }
    if (fill(part)) {
      return;
    }
    broken = true;
    if (!wire.isCut()) {
      throw new CloseConnectionException("the client has ended its request in the middle");
    }
    if (part == Part.BODY) {
      throw new CloseConnectionException("the body came too slowly");
    }
    throw bad(ErrorCode.REQUEST_TIMEOUT, "the head of the request did not arrive in time");
  }

  /** Waits for more and puts it behind what is there. */
  private boolean fill(Part part) {
    byte[] more = wire.read(part);
    if (more == null) {
      return false;
    }
    if (start == end) {
      buffer = more;
      start = 0;
      end = more.length;
      return true;
    }
    int held = end - start;
    if (start > 0 || buffer.length - end < more.length) {
      // Twice as much, or a head that comes byte by byte would be copied for each of them.
      byte[] larger = new byte[Math.max(2 * held, held + more.length)];
      System.arraycopy(buffer, start, larger, 0, held);
      buffer = larger;
      start = 0;
      end = held;
    }
    System.arraycopy(more, 0, buffer, end, more.length);
    end += more.length;
    return true;
  }

  private static RequestException bad(String message) {
    return bad(ErrorCode.BAD_REQUEST, message);
  }

  private static RequestException bad(ErrorCode code, String message) {
    return RequestException.builder()
        .type(DirectHandler.EventType.OTHER)
        .status(Status.create(code.status()))
        .message(message)
        .safeMessage(true)
        .setKeepAlive(false)
        .build();
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
