package carillon.api.json;

import carillon.model.Echo;

/** Writes JSON pointers (RFC 6901) with names that a client sent. */
public final class Pointer {

  private Pointer() {}

  public static String escape(String part) {
    return Echo.of(part).replace("~", "~0").replace("/", "~1");
  }
}
