package carillon.store.db;

import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A page of a list.
 *
 * @param next where the following page starts; null after the last one. A page may hold fewer items
 *     than requested and still have a next one, because the number of scanned rows is limited.
 */
public record Page<T, C>(List<T> items, @Nullable C next) {

  public Page {
    items = List.copyOf(items);
  }

  /**
   * A page of a query that asked for one row more than the limit, to learn whether there is one.
   *
   * @param cursor where the next page starts, given the last item of this one
   */
  public static <T, C> Page<T, C> of(List<T> found, int limit, Function<T, C> cursor) {
    return found.size() <= limit
        ? new Page<>(found, null)
        : new Page<>(found.subList(0, limit), cursor.apply(found.get(limit - 1)));
  }
}
