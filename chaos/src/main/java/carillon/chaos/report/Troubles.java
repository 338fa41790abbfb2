package carillon.chaos.report;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What went wrong with the harness itself, so that a history proves less than it seems to.
 *
 * <p>A fault that failed is accepted only where a statement of the harness to PostgreSQL failed
 * while a fault of the database ({@code pg-restart-fast}, {@code pg-crash}, {@code pg-freeze})
 * held.
 */
public final class Troubles {

  private static final String SQL_ERROR = "org.postgresql.util.PSQLException";

  private Troubles() {}

  public static List<String> in(History history) {
    List<String> troubles = new ArrayList<>();
    Map<String, Long> starts = new HashMap<>();
    for (Event event : history.events()) {
      switch (event.what()) {
        case "harness" -> troubles.add("the harness failed: " + event.fields());
        case "fault-start" -> starts.put(id(event), event.wall());
        case "fault-failed" -> {
          long from = starts.getOrDefault(id(event), event.wall());
          if (!isExcused(history, event, from)) {
            troubles.add("a fault failed: " + event.fields());
          }
        }
        default -> {}
      }
    }
    return troubles;
  }

  private static String id(Event event) {
    return event.need("fault") + " " + event.text("id");
  }

  private static boolean isExcused(History history, Event failed, long from) {
    if (!String.valueOf(failed.text("error")).startsWith(SQL_ERROR)) {
      return false;
    }
    Map<String, Long> ends = new HashMap<>();
    for (Event event : history.events()) {
      if (event.is("fault-end")) {
        ends.put(id(event), event.wall());
      }
    }
    return history.events().stream()
        .filter(event -> event.is("fault-start") && event.need("fault").startsWith("pg-"))
        .filter(event -> !id(event).equals(id(failed)))
        .anyMatch(
            event ->
                event.wall() <= failed.wall()
                    && ends.getOrDefault(id(event), Long.MAX_VALUE) >= from);
  }
}
