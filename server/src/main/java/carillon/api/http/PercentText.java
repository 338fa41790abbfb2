package carillon.api.http;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Decodes percent-encoded UTF-8 strictly; the JDK's decoder replaces invalid bytes. */
final class PercentText {

  private PercentText() {}

  /** Decodes a part of a path; null if it is not percent-encoded UTF-8. */
  static @Nullable String ofPath(String part) {
    return part.indexOf('%') < 0 ? part : decode(part, false);
  }

  /** Decodes a name or value of a query, where a plus is a space; null if it is invalid. */
  static @Nullable String ofQuery(String part) {
    return part.indexOf('%') < 0 && part.indexOf('+') < 0 ? part : decode(part, true);
  }

  private static @Nullable String decode(String part, boolean plusIsSpace) {
    byte[] from = part.getBytes(StandardCharsets.UTF_8);
    byte[] to = new byte[from.length];
    int length = 0;
    for (int i = 0; i < from.length; i++) {
      byte next = from[i];
      if (next == '%') {
        int high = i + 2 < from.length ? Character.digit(from[i + 1], 16) : -1;
        int low = i + 2 < from.length ? Character.digit(from[i + 2], 16) : -1;
        if (high < 0 || low < 0) {
          return null;
        }
        next = (byte) (high << 4 | low);
        i += 2;
      } else if (next == '+' && plusIsSpace) {
        next = ' ';
      }
      to[length++] = next;
    }
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(to, 0, length)).toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }
}
