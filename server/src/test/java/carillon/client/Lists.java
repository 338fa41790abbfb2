package carillon.client;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads lists of the API. */
final class Lists {

  private Lists() {}

  /** The items of all pages: on a slow machine, a page may end before the first item. */
  static List<JsonNode> all(Carillon carillon, String path) {
    List<JsonNode> items = new ArrayList<>();
    @Nullable String cursor = null;
    do {
      JsonNode page = carillon.get(cursor == null ? path : path + "&cursor=" + cursor);
      page.path("items").forEach(items::add);
      JsonNode next = page.path("nextCursor");
      cursor = next.isString() ? next.asString() : null;
    } while (cursor != null);
    return items;
  }
}
