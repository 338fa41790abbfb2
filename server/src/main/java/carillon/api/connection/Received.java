package carillon.api.connection;

import carillon.api.connection.RequestFraming.Part;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import io.helidon.webserver.CloseConnectionException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The bytes of a connection that have arrived and are not handed over yet: {@code buffer[start,
 * end)}. Positions are indexes into the buffer; they change when more bytes arrive.
 */
final class Received {

  static final int MAX_HEAD_BYTES = Limits.REQUEST_LINE_BYTES + Limits.HEADER_BYTES;

  private final RequestFraming.Wire wire;
  private byte[] buffer = new byte[0];
  private int start;
  private int end;

  Received(RequestFraming.Wire wire) {
    this.wire = wire;
  }

  int start() {
    return start;
  }

  int end() {
    return end;
  }

  int length() {
    return end - start;
  }

  boolean isEmpty() {
    return start == end;
  }

  byte at(int position) {
    return buffer[position];
  }

  void set(int position, char value) {
    buffer[position] = (byte) value;
  }

  byte next() {
    return buffer[start++];
  }

  void skipTo(int position) {
    start = position;
  }

  /** Moves the first bytes, so that they end at a later position, and drops what was there. */
  void moveFirst(int count, int to) {
    System.arraycopy(buffer, start, buffer, to - count, count);
    start = to - count;
  }

  void copy(int from, byte[] to, int at, int count) {
    System.arraycopy(buffer, from, to, at, count);
  }

  /** Hands over the first bytes; without a copy if they are all there is. */
  byte[] take(int count) {
    byte[] taken =
        start == 0 && count == buffer.length
            ? buffer
            : Arrays.copyOfRange(buffer, start, start + count);
    start += count;
    return taken;
  }

  /**
   * Waits for more bytes in the middle of a request.
   *
   * @param maxHeld how many bytes of a head or of trailers may be held
   */
  void require(Part part, int maxHeld) {
    if (length() > maxHeld) {
      throw Malformed.request(ErrorCode.HEADERS_TOO_LARGE);
    }
    if (fill(part)) {
      return;
    }
    if (!wire.isCut()) {
      throw new CloseConnectionException("the client has ended its request in the middle");
    }
    if (part == Part.BODY) {
      throw new CloseConnectionException("the body came too slowly");
    }
    throw Malformed.request(
        ErrorCode.REQUEST_TIMEOUT, "the head of the request did not arrive in time");
  }

  /** Waits for more bytes and appends them; false at the end of the connection. */
  boolean fill(Part part) {
    byte[] more = wire.read(part);
    if (more == null) {
      return false;
    }
    if (isEmpty()) {
      buffer = more;
      start = 0;
      end = more.length;
      return true;
    }
    int held = length();
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

  /** The position of the next CR, which must be there. */
  int endOfLine(int from) {
    int i = from;
    while (buffer[i] != '\r') {
      i++;
    }
    return i;
  }

  /** The end of the token that starts at a position: a method or the name of a header. */
  int endOfToken(int from, int to) {
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

  /** The colon after the name of a header or trailer. */
  int colon(int from, int endOfLine, String line) {
    int colon = endOfToken(from, endOfLine);
    if (colon == from || colon == endOfLine || buffer[colon] != ':') {
      throw Malformed.request(line + " must be a name, a colon and a value");
    }
    return colon;
  }

  boolean startsWith(int from, String text) {
    for (int i = 0; i < text.length(); i++) {
      if (buffer[from + i] != text.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  boolean startsWithIgnoringCase(int from, String lowerCase) {
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

  /** The text between two positions without blanks around it. */
  String trimmed(int first, int last) {
    int from = first;
    int to = last;
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

  static boolean isControl(byte each) {
    return (each >= 0 && each < ' ' && each != '\t') || each == 0x7f;
  }
}
