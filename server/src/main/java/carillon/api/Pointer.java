package carillon.api;

import carillon.model.Echo;

/** Writes JSON pointers (RFC 6901) whose parts came from a client. */
final class Pointer {

  private Pointer() {}

  static String escape(String part) {
    return Echo.of(part).replace("~", "~0").replace("/", "~1");
  }
}
