package carillon.api.json;

import carillon.model.Echo;

/** Writes JSON pointers (RFC 6901) whose parts came from a client. */
public final class Pointer {

  private Pointer() {}

  public static String escape(String part) {
    return Echo.of(part).replace("~", "~0").replace("/", "~1");
  }
}
