package carillon.store.db;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Some of a list.
 *
 * @param next where the following page starts; null after the last one. A page may hold fewer items
 *     than were asked for and still have a next one: how far a page looks is bounded, however few
 *     match.
 */
public record Page<T, C>(List<T> items, @Nullable C next) {

  public Page {
    items = List.copyOf(items);
  }
}
