package carillon.delivery.http;

import carillon.model.target.HiddenValues;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A response text together with its unescaped form: a target may echo what it was sent as JSON, as
 * JSON within JSON, or percent-encoded.
 */
final class EchoedText {

  /** How a target may have encoded what it echoes. */
  enum Encoding {
    PLAIN,
    JSON,
    JSON_IN_JSON,
    PERCENT;

    /** Whether the text contains anything to decode. */
    boolean isIn(String text) {
      return switch (this) {
        case PLAIN -> true;
        case JSON, JSON_IN_JSON -> text.indexOf('\\') >= 0;
        case PERCENT -> text.indexOf('%') >= 0 || text.indexOf('+') >= 0;
      };
    }
  }

  private static final String ESCAPES = "\"\\/bfnrt";
  private static final String ESCAPED = "\"\\/\b\f\n\r\t";
  private static final int UNICODE_DIGITS = 4;
  private static final int PERCENT_DIGITS = 2;

  private final Encoding encoding;
  private final String written;
  private final String decoded;
  private final int[] starts; // for each decoded character, its index in written; and the end

  private EchoedText(Encoding encoding, String written, String decoded, int[] starts) {
    this.encoding = encoding;
    this.written = written;
    this.decoded = decoded;
    this.starts = starts;
  }

  static EchoedText of(String written, Encoding encoding) {
    EchoedText plain = new EchoedText(encoding, written, written, identity(written.length()));
    return switch (encoding) {
      case PLAIN -> plain;
      case JSON -> plain.decodedOnce();
      case JSON_IN_JSON -> plain.decodedOnce().decodedOnce();
      case PERCENT -> plain.decodedOnce();
    };
  }

  private static int[] identity(int length) {
    int[] starts = new int[length + 1];
    Arrays.setAll(starts, i -> i);
    return starts;
  }

  String written() {
    return written;
  }

  /** The text with each occurrence of the secret hidden. */
  EchoedText without(String secret) {
    String wanted = comparable(secret);
    StringBuilder rest = null;
    int from = 0;
    for (int at = decoded.indexOf(wanted);
        at >= 0;
        at = decoded.indexOf(wanted, at + wanted.length())) {
      rest = rest == null ? new StringBuilder() : rest;
      rest.append(written, from, starts[at]).append(HiddenValues.TEXT);
      from = starts[at + wanted.length()];
    }
    return rest == null
        ? this
        : of(rest.append(written, from, written.length()).toString(), encoding);
  }

  /**
   * The text with its end hidden if it ends with a prefix of the secret; null if it does not.
   *
   * @param minLength of the prefix
   */
  @Nullable EchoedText withoutPrefixOf(String secret, int minLength) {
    String wanted = comparable(secret);
    for (int length = wanted.length() - 1; length >= minLength; length--) {
      int at = decoded.length() - length;
      if (at >= 0 && decoded.startsWith(wanted.substring(0, length), at)) {
        return of(written.substring(0, starts[at]) + HiddenValues.TEXT, encoding);
      }
    }
    return null;
  }

  /** Percent-encoding encodes bytes, and has two forms of a space. */
  private String comparable(String secret) {
    return encoding == Encoding.PERCENT
        ? new String(secret.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1)
            .replace('+', ' ')
        : secret;
  }

  /** Decodes one level of escapes. An escape that the end of the text cuts off is dropped. */
  private EchoedText decodedOnce() {
    StringBuilder result = new StringBuilder(decoded.length());
    int[] resultStarts = new int[decoded.length() + 1];
    int i = 0;
    while (i < decoded.length()) {
      int length = escapeLength(i);
      if (i + length > decoded.length()) {
        break;
      }
      resultStarts[result.length()] = starts[i];
      result.append(plain(length == 1 ? decoded.charAt(i) : escaped(i, length)));
      i += length;
    }
    resultStarts[result.length()] = starts[decoded.length()];
    return new EchoedText(
        encoding, written, result.toString(), Arrays.copyOf(resultStarts, result.length() + 1));
  }

  private char plain(char each) {
    return encoding == Encoding.PERCENT && each == '+' ? ' ' : each;
  }

  /** The length of the escape at this index; longer than the rest of the text if it is cut off. */
  private int escapeLength(int at) {
    if (encoding == Encoding.PERCENT) {
      return decoded.charAt(at) == '%' && hasDigits(at + 1, PERCENT_DIGITS)
          ? 1 + PERCENT_DIGITS
          : 1;
    }
    if (decoded.charAt(at) != '\\') {
      return 1;
    }
    if (at + 1 == decoded.length() || ESCAPES.indexOf(decoded.charAt(at + 1)) >= 0) {
      return 2;
    }
    boolean isUnicode = decoded.charAt(at + 1) == 'u' && hasDigits(at + 2, UNICODE_DIGITS);
    return isUnicode ? 2 + UNICODE_DIGITS : 1;
  }

  /** Whether this many hexadecimal digits follow, or fewer because the text ends. */
  private boolean hasDigits(int from, int count) {
    for (int i = from; i < Math.min(from + count, decoded.length()); i++) {
      if (Character.digit(decoded.charAt(i), 16) < 0 || decoded.charAt(i) > 'f') {
        return false;
      }
    }
    return true;
  }

  private char escaped(int at, int length) {
    return length == 2
        ? ESCAPED.charAt(ESCAPES.indexOf(decoded.charAt(at + 1)))
        : (char)
            Integer.parseInt(
                decoded,
                at + length - (length == 1 + PERCENT_DIGITS ? PERCENT_DIGITS : UNICODE_DIGITS),
                at + length,
                16);
  }
}
