package carillon.api.json;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The checked UTF-8 that a parser reads, from which the text of values can be cut out. */
sealed interface JsonSource {

  Utf8Check check();

  /** The text between two offsets as the parser counts them. */
  String text(long from, long to);

  /** A text that is in memory as a whole. */
  final class Whole implements JsonSource {

    private final byte[] bytes;
    private final int start;
    private final Utf8Check check;

    Whole(byte[] bytes, int start, Utf8Check check) {
      this.bytes = bytes;
      this.start = start;
      this.check = check;
    }

    @Override
    public Utf8Check check() {
      return check;
    }

    @Override
    public String text(long from, long to) {
      return new String(bytes, start + (int) from, (int) (to - from), StandardCharsets.UTF_8);
    }
  }

  /** The bytes of a stream that the parser has read, from the start of the current item on. */
  final class Window extends InputStream implements JsonSource {

    private static final int PIECE = 8 << 10;

    private final InputStream in;
    private final String name;
    private final int maxItem;
    private final BodyMemory.Held held;
    private final Utf8Check check = new Utf8Check();
    private byte[] bytes = new byte[0];
    private int size;
    private long start; // the offset of the first byte
    private long wanted; // bytes before this offset are no longer needed
    private boolean isBlank = true;

    /**
     * @param name of the array whose items are read
     * @param maxItem bytes that an item may have
     */
    Window(InputStream in, String name, int maxItem, BodyMemory.Held held) {
      this.in = in;
      this.name = name;
      this.maxItem = maxItem;
      this.held = held;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      int read = in.read(buffer, offset, Math.min(length, PIECE));
      if (read < 0) {
        check.end();
        return read;
      }
      check.check(buffer, offset, offset + read);
      isBlank = isBlank && JsonText.isBlank(buffer, offset, read);
      dropUnneeded();
      if (size > maxItem) {
        throw new ApiException(
                ErrorCode.BODY_TOO_LARGE,
                "an item of " + name + " has more than " + maxItem + " bytes")
            .closing();
      }
      if (size + read > bytes.length) {
        int grown = Math.max(2 * PIECE, Math.max(size + read, 2 * bytes.length));
        held.need((long) bytes.length + grown);
        bytes = Arrays.copyOf(bytes, grown);
      }
      System.arraycopy(buffer, offset, bytes, size, read);
      size += read;
      return read;
    }

    private void dropUnneeded() {
      int unneeded = (int) Math.min(size, wanted - start);
      if (unneeded > 0) {
        System.arraycopy(bytes, unneeded, bytes, 0, size - unneeded);
        size -= unneeded;
        start += unneeded;
      }
    }

    void keepFrom(long offset) {
      wanted = offset;
    }

    boolean isBlank() {
      return isBlank;
    }

    @Override
    public Utf8Check check() {
      return check;
    }

    @Override
    public String text(long from, long to) {
      return new String(bytes, (int) (from - start), (int) (to - from), StandardCharsets.UTF_8);
    }
  }
}
