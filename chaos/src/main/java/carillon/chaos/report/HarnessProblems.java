package carillon.chaos.report;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds failures of the harness itself, which make a run inconclusive.
 *
 * <p>A failed fault is accepted only if a statement of the harness to PostgreSQL failed while
 * another fault of the database was active ({@code pg-restart-fast}, {@code pg-crash} or {@code
 * pg-freeze}).
 */
public final class HarnessProblems {

  private static final String SQL_ERROR = "org.postgresql.util.PSQLException";

  private HarnessProblems() {}

  public static List<String> in(History history) {
    List<String> problems = new ArrayList<>();
    Map<String, Long> starts = new HashMap<>();
    for (Event event : history.events()) {
      switch (event.what()) {
        case "harness" -> problems.add("the harness failed: " + event.fields());
        case "fault-start" -> starts.put(id(event), event.wall());
        case "fault-failed" -> {
          long from = starts.getOrDefault(id(event), event.wall());
          if (!isExcused(history, event, from)) {
            problems.add("a fault failed: " + event.fields());
          }
        }
        default -> {}
      }
    }
    return problems;
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
