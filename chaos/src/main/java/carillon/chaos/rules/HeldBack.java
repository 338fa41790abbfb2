package carillon.chaos.rules;

import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A suspect that was cancelled while its node held it back. A node writes down with which suspects
 * it begins before it looks for their cancels, so a cancel that was answered before the mark is
 * always seen.
 *
 * @param answered when the cancel was
 * @param marked when its node began with it
 * @param fence of the claim
 */
public record HeldBack(String task, long answered, long marked, long fence) {

  public static List<HeldBack> in(Facts facts) {
    List<HeldBack> found = new ArrayList<>();
    for (Op cancel : facts.ops("cancel")) {
      if (cancel.isOk() && cancel.number("status", 0) == 202) {
        String task = cancel.need("id");
        for (Row mark : facts.marks(task)) {
          long at = Facts.at(mark);
          Row claim = lastChange(facts, task, at);
          if (at > cancel.ended()
              && claim != null
              && "RUNNING".equals(claim.text("to_state"))
              && !facts.mayBeRedriven(task, cancel.began(), at)) {
            found.add(new HeldBack(task, cancel.ended(), at, claim.number("to_fence")));
          }
        }
      }
    }
    return found;
  }

  private static @Nullable Row lastChange(Facts facts, String task, long until) {
    Row last = null;
    for (Row change : facts.changes(task)) {
      last = Facts.at(change) <= until ? change : last;
    }
    return last;
  }
}
