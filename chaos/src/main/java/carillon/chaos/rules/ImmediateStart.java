package carillon.chaos.rules;

import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A task that was claimed in the transaction that created it, so that it was never in the queue.
 */
public record ImmediateStart(String task) {

  public static List<ImmediateStart> in(Facts facts) {
    List<ImmediateStart> found = new ArrayList<>();
    facts
        .changes()
        .forEach(
            (task, changes) -> {
              if (changes.size() > 1 && isImmediate(changes.getFirst(), changes.get(1))) {
                found.add(new ImmediateStart(task));
              }
            });
    return found;
  }

  private static boolean isImmediate(Row insert, Row claim) {
    return insert.text("from_state") == null
        && "RUNNING".equals(claim.text("to_state"))
        && insert.text("xact") != null
        && Objects.equals(insert.text("xact"), claim.text("xact"));
  }
}
