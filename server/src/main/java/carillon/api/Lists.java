package carillon.api;

import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Pages of lists: {@code {items, nextCursor}}, with cursors that belong to one list of one tenant.
 */
final class Lists {

  private final Cursors cursors;

  Lists(Cursors cursors) {
    this.cursors = cursors;
  }

  /** Where this page starts; null for the first one. */
  <C> @Nullable C start(Call call, Function<String, @Nullable C> parse) {
    String cursor = call.query().cursor();
    if (cursor == null) {
      return null;
    }
    C position = parse.apply(cursors.open(name(call), cursor));
    if (position == null) {
      throw Cursors.invalid();
    }
    return position;
  }

  Answer answer(Call call, List<ObjectNode> items, @Nullable String next) {
    ObjectNode page = JsonNodeFactory.instance.objectNode();
    ArrayNode array = page.putArray("items");
    items.forEach(array::add);
    page.put("nextCursor", next == null ? null : cursors.seal(name(call), next));
    return Answer.json(200, page);
  }

  private static String name(Call call) {
    return call.tenant().value() + "\n" + call.path() + "\n" + call.query().filter();
  }
}
