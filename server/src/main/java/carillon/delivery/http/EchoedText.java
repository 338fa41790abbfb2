package carillon.delivery.http;

import carillon.model.target.HiddenValues;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A text that came back, together with what it says once its escapes are resolved: a target may
 * write what it was sent as JSON, as JSON within JSON, or percent-encoded.
 */
final class EchoedText {

  /** How a text may write what it was sent. */
  enum Encoding {
    PLAIN,
    JSON,
    JSON_IN_JSON,
    PERCENT;

    /** Whether the text has anything that this would resolve. */
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
  private final String meant;
  private final int[] starts; // of each character that is meant, where it is written; and the end

  private EchoedText(Encoding encoding, String written, String meant, int[] starts) {
    this.encoding = encoding;
    this.written = written;
    this.meant = meant;
    this.starts = starts;
  }

  static EchoedText of(String written, Encoding encoding) {
    EchoedText plain = new EchoedText(encoding, written, written, places(written.length()));
    return switch (encoding) {
      case PLAIN -> plain;
      case JSON -> plain.resolved();
      case JSON_IN_JSON -> plain.resolved().resolved();
      case PERCENT -> plain.resolved();
    };
  }

  private static int[] places(int length) {
    int[] places = new int[length + 1];
    Arrays.setAll(places, i -> i);
    return places;
  }

  String written() {
    return written;
  }

  /** The text with each place hidden that means this. */
  EchoedText without(String secret) {
    String wanted = asMeant(secret);
    StringBuilder rest = null;
    int from = 0;
    for (int at = meant.indexOf(wanted);
        at >= 0;
        at = meant.indexOf(wanted, at + wanted.length())) {
      rest = rest == null ? new StringBuilder() : rest;
      rest.append(written, from, starts[at]).append(HiddenValues.TEXT);
      from = starts[at + wanted.length()];
    }
    return rest == null
        ? this
        : of(rest.append(written, from, written.length()).toString(), encoding);
  }

  /**
   * The text with its end hidden if that means a part of this, from its beginning; null if it does
   * not.
   *
   * @param shortest how long the part must be
   */
  @Nullable EchoedText withoutBeginningOf(String secret, int shortest) {
    String wanted = asMeant(secret);
    for (int length = wanted.length() - 1; length >= shortest; length--) {
      int at = meant.length() - length;
      if (at >= 0 && meant.startsWith(wanted.substring(0, length), at)) {
        return of(written.substring(0, starts[at]) + HiddenValues.TEXT, encoding);
      }
    }
    return null;
  }

  /** Percent-encoding is of bytes, and has two ways to write a space. */
  private String asMeant(String secret) {
    return encoding == Encoding.PERCENT
        ? new String(secret.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1)
            .replace('+', ' ')
        : secret;
  }

  /** Resolves one level of escapes. Of one that the end of the text cuts off nothing is meant. */
  private EchoedText resolved() {
    StringBuilder resolved = new StringBuilder(meant.length());
    int[] places = new int[meant.length() + 1];
    int i = 0;
    while (i < meant.length()) {
      int length = escapeLength(i);
      if (i + length > meant.length()) {
        break;
      }
      places[resolved.length()] = starts[i];
      resolved.append(plain(length == 1 ? meant.charAt(i) : escaped(i, length)));
      i += length;
    }
    places[resolved.length()] = starts[meant.length()];
    return new EchoedText(
        encoding, written, resolved.toString(), Arrays.copyOf(places, resolved.length() + 1));
  }

  private char plain(char each) {
    return encoding == Encoding.PERCENT && each == '+' ? ' ' : each;
  }

  /** How many characters write the one at this place; more than there are if it is cut off. */
  private int escapeLength(int at) {
    if (encoding == Encoding.PERCENT) {
      return meant.charAt(at) == '%' && hasDigits(at + 1, PERCENT_DIGITS) ? 1 + PERCENT_DIGITS : 1;
    }
    if (meant.charAt(at) != '\\') {
      return 1;
    }
    if (at + 1 == meant.length() || ESCAPES.indexOf(meant.charAt(at + 1)) >= 0) {
      return 2;
    }
    boolean isUnicode = meant.charAt(at + 1) == 'u' && hasDigits(at + 2, UNICODE_DIGITS);
    return isUnicode ? 2 + UNICODE_DIGITS : 1;
  }

  /** Whether there are so many hexadecimal digits, or fewer because the text ends. */
  private boolean hasDigits(int from, int count) {
    for (int i = from; i < Math.min(from + count, meant.length()); i++) {
      if (Character.digit(meant.charAt(i), 16) < 0 || meant.charAt(i) > 'f') {
        return false;
      }
    }
    return true;
  }

  private char escaped(int at, int length) {
    return length == 2
        ? ESCAPED.charAt(ESCAPES.indexOf(meant.charAt(at + 1)))
        : (char)
            Integer.parseInt(
                meant,
                at + length - (length == 1 + PERCENT_DIGITS ? PERCENT_DIGITS : UNICODE_DIGITS),
                at + length,
                16);
  }
}
