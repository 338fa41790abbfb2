package carillon.chaos.rules;

import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.List;

/**
 * An edit of a payload that was written just before a claim took the task: the claim must not have
 * read the payload before it.
 */
public record RacingEdit(String task) {

  private static final long JUST_BEFORE = 50_000;

  public static List<RacingEdit> in(Facts facts) {
    List<RacingEdit> found = new ArrayList<>();
    facts
        .changes()
        .forEach(
            (task, changes) -> {
              for (int i = 1; i < changes.size(); i++) {
                if (isRace(changes.get(i - 1), changes.get(i))) {
                  found.add(new RacingEdit(task));
                }
              }
            });
    return found;
  }

  private static boolean isRace(Row edit, Row claim) {
    return edit.fields().is("edited")
        && "PENDING".equals(edit.text("to_state"))
        && "PENDING".equals(claim.text("from_state"))
        && "RUNNING".equals(claim.text("to_state"))
        && Facts.at(claim) - Facts.at(edit) < JUST_BEFORE;
  }
}
