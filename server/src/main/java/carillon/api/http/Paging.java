package carillon.api.http;

import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Pages of lists: {@code {items, nextCursor}}, with cursors that belong to one list of one tenant.
 */
public final class Paging {

  private final Cursors cursors;

  public Paging(Cursors cursors) {
    this.cursors = cursors;
  }

  /** Where this page starts; null for the first one. */
  public <C> @Nullable C start(Call call, Function<String, @Nullable C> parse) {
    return start(call, call.path(), parse);
  }

  /**
   * Where this page starts, for a path that can be written in several ways.
   *
   * @param path its canonical form
   */
  public <C> @Nullable C start(Call call, String path, Function<String, @Nullable C> parse) {
    return start(call, path, call.query().cursor(), parse);
  }

  /** Where this page starts, for a cursor that is not in the query. */
  public <C> @Nullable C start(
      Call call, String path, @Nullable String cursor, Function<String, @Nullable C> parse) {
    if (cursor == null) {
      return null;
    }
    C position = parse.apply(cursors.open(name(call, path), cursor));
    if (position == null) {
      throw Cursors.invalid();
    }
    return position;
  }

  public Answer answer(Call call, List<ObjectNode> items, @Nullable String next) {
    return answer(call, call.path(), items, next);
  }

  public Answer answer(Call call, String path, List<ObjectNode> items, @Nullable String next) {
    ObjectNode page = JsonNodeFactory.instance.objectNode();
    ArrayNode array = page.putArray("items");
    items.forEach(array::add);
    page.put("nextCursor", cursor(call, path, next));
    return Answer.json(200, page);
  }

  /** The cursor that continues the list at this path from a position. */
  public @Nullable String cursor(Call call, String path, @Nullable String next) {
    return next == null ? null : cursors.seal(name(call, path), next);
  }

  private static String name(Call call, String path) {
    return call.tenant().value() + "\n" + path + "\n" + call.query().filter();
  }
}
