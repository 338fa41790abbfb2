package carillon.chaos.history;

import java.util.Locale;

/**
 * What an event says of its operation: it began, it happened, it did certainly not happen, or
 * nobody knows; or that there is no operation, only something seen.
 */
public enum Kind {
  INVOKE,
  OK,
  FAIL,
  INFO,
  EVENT;

  String written() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Kind read(String written) {
    return valueOf(written.toUpperCase(Locale.ROOT));
  }
}
