package carillon.model;

/**
 * Text of a caller as it may be repeated in a message or a log line: short, on one line, plain
 * ASCII without markup, terminal codes or look-alikes.
 */
public final class Echo {

  private static final int MAX_CHARACTERS = 64;
  private static final String CUT = "...";

  private Echo() {}

  public static String of(String text) {
    return of(text, MAX_CHARACTERS);
  }

  /** For text that is longer by its nature. */
  public static String of(String text, int maxCharacters) {
    var echo = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      String next = escaped(text.charAt(i));
      boolean last = i == text.length() - 1;
      if (echo.length() + next.length() > maxCharacters - (last ? 0 : CUT.length())) {
        return echo.append(CUT).toString();
      }
      echo.append(next);
    }
    return echo.toString();
  }

  private static String escaped(char c) {
    boolean isPlain = c >= ' ' && c <= '~' && "<>&\"'`".indexOf(c) < 0;
    return isPlain ? String.valueOf(c) : "\\u%04x".formatted((int) c);
  }
}
