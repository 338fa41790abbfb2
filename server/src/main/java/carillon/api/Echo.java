package carillon.api;

/**
 * Text of a client made safe to repeat in an answer or a log line: short, and without control
 * characters.
 */
final class Echo {

  private static final int MAX = 64;

  private Echo() {}

  static String of(String text) {
    StringBuilder safe = new StringBuilder();
    int end = Math.min(text.length(), MAX);
    for (int i = 0; i < end; i++) {
      char c = text.charAt(i);
      // Anything but plain ASCII is written as an escape: no line breaks, no terminal codes, no
      // look-alikes, no markup.
      if (c >= ' ' && c <= '~' && "<>&\"'`".indexOf(c) < 0) {
        safe.append(c);
      } else {
        safe.append(String.format("\\u%04x", (int) c));
      }
    }
    return text.length() > MAX ? safe.append("...").toString() : safe.toString();
  }
}
