package carillon.model;

/** Text of a caller as it may appear in a message: short, on one line, in ASCII. */
final class Echo {

  private static final int MAX_CHARACTERS = 64;
  private static final String CUT = "...";

  private Echo() {}

  static String of(String text) {
    var echo = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      String next = escaped(text.charAt(i));
      boolean last = i == text.length() - 1;
      if (echo.length() + next.length() > MAX_CHARACTERS - (last ? 0 : CUT.length())) {
        return echo.append(CUT).toString();
      }
      echo.append(next);
    }
    return echo.toString();
  }

  private static String escaped(char c) {
    return c >= ' ' && c <= '~' ? String.valueOf(c) : "\\u%04x".formatted((int) c);
  }
}
