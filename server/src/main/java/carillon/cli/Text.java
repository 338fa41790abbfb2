package carillon.cli;

/** Makes untrusted text safe to print on a terminal or in a log. */
public final class Text {

  private Text() {}

  /**
   * Escapes control, format and separator characters, so that the text stays on its line, cannot
   * control the terminal and reads in the order in which it is stored.
   */
  public static String visible(String text) {
    int clean = 0;
    while (clean < text.length() && isPlain(text.charAt(clean))) {
      clean++;
    }
    if (clean == text.length()) {
      return text;
    }
    StringBuilder escaped = new StringBuilder(text.length() + 16).append(text, 0, clean);
    text.substring(clean).codePoints().forEach(codePoint -> append(escaped, codePoint));
    return escaped.toString();
  }

  private static boolean isPlain(char c) {
    return c >= ' ' && c < 0x7f;
  }

  private static void append(StringBuilder escaped, int codePoint) {
    switch (codePoint) {
      case '\n' -> escaped.append("\\n");
      case '\r' -> escaped.append("\\r");
      case '\t' -> escaped.append("\\t");
      default -> {
        if (isVisible(codePoint)) {
          escaped.appendCodePoint(codePoint);
        } else {
          escaped.append(String.format(codePoint > 0xffff ? "\\u{%x}" : "\\u%04x", codePoint));
        }
      }
    }
  }

  private static boolean isVisible(int codePoint) {
    return switch (Character.getType(codePoint)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE,
          Character.PRIVATE_USE,
          Character.UNASSIGNED ->
          false;
      default -> true;
    };
  }
}
