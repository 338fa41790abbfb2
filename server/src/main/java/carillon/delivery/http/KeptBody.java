package carillon.delivery.http;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The beginning of a response body, as text that PostgreSQL can store. */
final class KeptBody {

  static final int MAX_BYTES = 4 * 1024;

  private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
  private boolean cut;

  void add(byte[] bytes, int length) {
    int fits = Math.min(length, MAX_BYTES - kept.size());
    kept.write(bytes, 0, fits);
    cut |= fits < length;
  }

  /** Null if there is nothing. */
  @Nullable String text() {
    var chars = CharBuffer.allocate(kept.size());
    // Without "end of input" a character that was cut in two stays undecoded.
    StandardCharsets.UTF_8
        .newDecoder()
        .onMalformedInput(CodingErrorAction.REPLACE)
        .onUnmappableCharacter(CodingErrorAction.REPLACE)
        .decode(ByteBuffer.wrap(kept.toByteArray()), chars, !cut);
    String decoded = chars.flip().toString().replace("\u0000", "");
    String text = decoded.substring(0, lengthThatFits(decoded));
    return text.isEmpty() ? null : text;
  }

  /** Counted again, because a replacement is longer than what it replaces. */
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
