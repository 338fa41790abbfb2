package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.List;

/**
 * A waiting task is in the queue, a running one in a claim, and one that has ended in neither. No
 * constraint of the database ensures this. A view lists the exceptions; it is read under load and
 * at the end.
 */
final class Placement {

  private Placement() {}

  static List<Violation> misplaced(Facts facts) {
    List<Violation> found = new ArrayList<>();
    for (Event event : facts.history().events()) {
      if (event.is("misplaced")) {
        found.add(violation(event.fields(), "under load"));
      }
    }
    for (Row row : facts.history().rows(Table.MISPLACED)) {
      found.add(violation(row.fields(), "at the end"));
    }
    return found;
  }

  private static Violation violation(Fields row, String when) {
    String state = row.text("state");
    return Violation.of(
        Rule.R25,
        row.need("task"),
        "%s %s of tenant %s, with %s rows in the queue and %s claims",
        when,
        state == null ? "without a row in the table of tasks" : state,
        row.text("tenant"),
        row.text("queue_rows"),
        row.text("claims"));
  }
}
