package carillon.chaos.history;

import java.util.Locale;

/**
 * What an event says about its operation: it started, it succeeded, it definitely did not happen,
 * or its outcome is unknown. {@code EVENT} is an observation without an operation.
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
