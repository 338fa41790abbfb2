package carillon.delivery.http;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The beginning of a response body, as text that PostgreSQL can store. */
final class BodyExcerpt {

  static final int MAX_BYTES = 4 * 1024;

  private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
  private boolean isTruncated;

  void add(byte[] bytes, int length) {
    int fits = Math.min(length, MAX_BYTES - kept.size());
    kept.write(bytes, 0, fits);
    isTruncated |= fits < length;
  }

  /** Null if the body is empty. */
  @Nullable String text() {
    var chars = CharBuffer.allocate(kept.size());
    // Without "end of input", a truncated character is not decoded.
    StandardCharsets.UTF_8
        .newDecoder()
        .onMalformedInput(CodingErrorAction.REPLACE)
        .onUnmappableCharacter(CodingErrorAction.REPLACE)
        .decode(ByteBuffer.wrap(kept.toByteArray()), chars, !isTruncated);
    String decoded = chars.flip().toString().replace("\u0000", "");
    String text = decoded.substring(0, lengthThatFits(decoded));
    return text.isEmpty() ? null : text;
  }

  /** Counts again, because a replacement character may be longer than the bytes it replaces. */
  private static int lengthThatFits(String text) {
    int bytes = 0;
    int index = 0;
    while (index < text.length()) {
      int character = text.codePointAt(index);
      bytes += character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
      if (bytes > MAX_BYTES) {
        break;
      }
      index += Character.charCount(character);
    }
    return index;
  }
}
