package carillon.api;

import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Decodes percent-encoded text strictly: bytes that are not UTF-8 are refused, not replaced. */
final class PercentText {

  private PercentText() {}

  /**
   * Decodes a part of a query, in which a plus is a space.
   *
   * @throws IllegalArgumentException if the part is not percent-encoded UTF-8
   */
  static String decode(String part) {
    String text = URLDecoder.decode(part, StandardCharsets.UTF_8);
    // The decoder marks what it had to guess at; only then is a second, strict look needed.
    return text.indexOf('\uFFFD') < 0 ? text : decodeStrictly(part);
  }

  private static String decodeStrictly(String part) {
    byte[] bytes =
        URLDecoder.decode(part, StandardCharsets.ISO_8859_1).getBytes(StandardCharsets.ISO_8859_1);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("not UTF-8", e);
    }
  }
}
