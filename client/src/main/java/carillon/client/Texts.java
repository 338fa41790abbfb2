package carillon.client;

import org.jspecify.annotations.Nullable;

/** Makes texts of users such that the server takes them. */
final class Texts {

  private static final int MAX = 4096;

  private Texts() {}

  /** Without what JSON or PostgreSQL cannot hold, and not longer than the server keeps. */
  static String clean(String text) {
    String cut = text.length() > MAX ? text.substring(0, MAX) : text;
    StringBuilder clean = new StringBuilder(cut.length());
    cut.codePoints()
        .forEach(
            point ->
                clean.appendCodePoint(
                    point == 0 || (point >= 0xD800 && point <= 0xDFFF) ? 0xFFFD : point));
    return clean.toString();
  }

  /** The same in one line. */
  static String line(String text) {
    return clean(text).replaceAll("\\p{Cntrl}", " ").replaceAll("[\\x80-\\x9f]", " ");
  }

  /** What to report about something thrown. */
  static String of(Throwable what) {
    String message = what.getMessage();
    String name = what.getClass().getSimpleName();
    return clean(message == null || message.isBlank() ? name : name + ": " + message);
  }

  /** The message of what was thrown to be read by people. */
  static String message(Throwable what) {
    @Nullable String message = what.getMessage();
    return message == null || message.isBlank() ? of(what) : clean(message);
  }
}
