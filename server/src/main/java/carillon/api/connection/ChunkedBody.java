package carillon.api.connection;

import carillon.api.connection.RequestFraming.Part;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A chunked body: checked, and rewritten without extensions and trailers in chunks that are never
 * larger than what has arrived.
 */
final class ChunkedBody {

  /** Longer than any real extension; extensions are skipped, so they must not be endless. */
  private static final int MAX_EXTENSION_BYTES = 4 << 10;

  private static final int MAX_SIZE_DIGITS = 15;
  private static final byte[] LAST_CHUNK = "0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  /** Space for the size of a chunk: six hexadecimal digits, with leading zeros, and CR LF. */
  private static final int PREFIX_BYTES = 8;

  private enum State {
    SIZE,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILERS,
    COMPLETE
  }

  private final Received received;
  private State state = State.SIZE;
  private long remaining;
  private int digits;
  private int extensionBytes;

  ChunkedBody(Received received) {
    this.received = received;
  }

  boolean isComplete() {
    return state == State.COMPLETE;
  }

  /** All that has arrived, as one chunk, and the last chunk after the end of the body. */
  byte[] read() {
    while (true) {
      if (received.isEmpty()) {
        received.require(Part.BODY, 0);
      }
      byte[] out = new byte[PREFIX_BYTES + received.length() + 2 + LAST_CHUNK.length];
      int to = PREFIX_BYTES;
      while (!received.isEmpty() && !isComplete()) {
        if (state == State.DATA) {
          int available = (int) Math.min(remaining, received.length());
          received.copy(received.start(), out, to, available);
          received.skipTo(received.start() + available);
          to += available;
          remaining -= available;
          if (remaining == 0) {
            state = State.DATA_CR;
          }
        } else if (state == State.TRAILERS) {
          dropTrailers();
        } else {
          frame(received.next());
        }
      }
      int data = to - PREFIX_BYTES;
      if (data > 0) {
        putSize(data, out);
        out[to++] = '\r';
        out[to++] = '\n';
      }
      if (isComplete()) {
        System.arraycopy(LAST_CHUNK, 0, out, to, LAST_CHUNK.length);
        to += LAST_CHUNK.length;
      }
      if (data > 0 || isComplete()) {
        return Arrays.copyOfRange(out, data > 0 ? 0 : PREFIX_BYTES, to);
      }
    }
  }

  private static void putSize(int size, byte[] out) {
    for (int i = PREFIX_BYTES - 3, rest = size; i >= 0; i--, rest >>= 4) {
      out[i] = (byte) Character.forDigit(rest & 0xf, 16);
    }
    out[PREFIX_BYTES - 2] = '\r';
    out[PREFIX_BYTES - 1] = '\n';
  }

  /** One byte around the data of chunks. */
  private void frame(byte next) {
    switch (state) {
      case SIZE -> {
        int digit = Character.digit(next & 0x7f, 16);
        if (next >= 0 && digit >= 0) {
          if (++digits > MAX_SIZE_DIGITS) {
            throw Malformed.request("the size of a chunk has too many digits");
          }
          remaining = remaining * 16 + digit;
        } else if (digits > 0 && next == ';') {
          state = State.EXTENSION;
        } else if (digits > 0 && next == '\r') {
          state = State.SIZE_LF;
        } else {
          throw Malformed.request("the size of a chunk is not a hexadecimal number");
        }
      }
      case EXTENSION -> {
        if (next == '\r') {
          state = State.SIZE_LF;
        } else if (Received.isControl(next)) {
          throw Malformed.request("a chunk extension has a control character");
        } else if (++extensionBytes > MAX_EXTENSION_BYTES) {
          throw Malformed.request("the chunk extensions are too long");
        }
      }
      case SIZE_LF -> {
        expect(next, '\n');
        digits = 0;
        state = remaining == 0 ? State.TRAILERS : State.DATA;
      }
      case DATA_CR -> {
        expect(next, '\r');
        state = State.DATA_LF;
      }
      case DATA_LF -> {
        expect(next, '\n');
        state = State.SIZE;
      }
      case DATA, TRAILERS, COMPLETE -> throw new IllegalStateException(state.name());
    }
  }

  private static void expect(byte found, char wanted) {
    if (found != wanted) {
      throw Malformed.request("a chunk does not end with CR LF at its size");
    }
  }

  /** Checks and drops what follows the last chunk: trailers are not used. */
  private void dropTrailers() {
    int lineStart = received.start();
    int lines = 0;
    for (int i = received.start(); ; i++) {
      if (i == received.end()) {
        int from = received.start();
        received.require(Part.BODY, Limits.HEADER_BYTES);
        lineStart -= from - received.start();
        i -= from - received.start();
      }
      boolean afterCr = i > lineStart && received.at(i - 1) == '\r';
      if ((received.at(i) == '\n') != afterCr) {
        throw Malformed.request("a trailer line does not end with CR LF");
      }
      if (received.at(i) != '\n') {
        continue;
      }
      if (i - lineStart == 1) {
        received.skipTo(i + 1);
        state = State.COMPLETE;
        return;
      }
      int _ = received.colon(lineStart, i - 1, "a trailer line");
      lineStart = i + 1;
      if (++lines > Limits.HEADERS || i - received.start() > Limits.HEADER_BYTES) {
        throw Malformed.request(ErrorCode.HEADERS_TOO_LARGE);
      }
    }
  }
}
