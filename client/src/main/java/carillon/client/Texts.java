package carillon.client;

import org.jspecify.annotations.Nullable;

/** Cleans texts of users so that the server accepts them. */
final class Texts {

  private static final int MAX = 4096;

  private Texts() {}

  /**
   * Replaces characters that JSON or PostgreSQL cannot hold and truncates to the server's limit.
   */
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

  /** Like {@link #clean}, on one line. */
  static String line(String text) {
    return clean(text).replaceAll("\\p{Cntrl}", " ").replaceAll("[\\x80-\\x9f]", " ");
  }

  /** The error text for an exception: its class and message. */
  static String of(Throwable what) {
    String message = what.getMessage();
    String name = what.getClass().getSimpleName();
    return clean(message == null || message.isBlank() ? name : name + ": " + message);
  }

  /** The message of an exception that was thrown with a message for people. */
  static String message(Throwable what) {
    @Nullable String message = what.getMessage();
    return message == null || message.isBlank() ? of(what) : clean(message);
  }
}
