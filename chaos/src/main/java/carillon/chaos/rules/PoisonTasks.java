package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A task that crashes its nodes becomes DEAD after a few crashes, and no other task does. */
final class PoisonTasks {

  /** The server's default. */
  private static final int MAX_CRASHES = 3;

  private PoisonTasks() {}

  static List<Violation> poison(Facts facts) {
    Map<String, Integer> kills = new LinkedHashMap<>();
    for (Event event : facts.history().events()) {
      if (event.is("poison-kill")) {
        kills.merge(event.need("task"), 1, Integer::sum);
      }
    }
    if (kills.isEmpty()) {
      return List.of(); // random kills may make any task look like poison
    }
    List<Violation> found = new ArrayList<>();
    kills.forEach(
        (task, count) -> {
          if (count > MAX_CRASHES) {
            found.add(Violation.of(Rule.R23, task, "%d nodes crashed while they ran it", count));
          }
        });
    for (Row task : facts.history().rows(Table.TASK)) {
      boolean isPoison = "DEAD".equals(task.text("state")) && "POISON".equals(task.text("failure"));
      String id = task.need("id");
      if (isPoison && !kills.containsKey(id)) {
        found.add(Violation.of(Rule.R23, id, "DEAD as poison, but no node crashed while it ran"));
      } else if (!isPoison && kills.getOrDefault(id, 0) >= MAX_CRASHES) {
        found.add(
            Violation.of(
                Rule.R23,
                id,
                "%s after %d nodes crashed while they ran it",
                task.need("state"),
                kills.get(id)));
      }
    }
    return found;
  }
}
