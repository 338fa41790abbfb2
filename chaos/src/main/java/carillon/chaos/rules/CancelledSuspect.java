package carillon.chaos.rules;

import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A suspect that was cancelled while its node held it back. A node records the suspects that it is
 * about to start before it checks their cancels, so it must see every cancel that was acknowledged
 * before the record.
 *
 * @param answered when the cancel was acknowledged
 * @param marked when the node recorded that it starts the suspect
 * @param fence of the claim
 */
public record CancelledSuspect(String task, long answered, long marked, long fence) {

  public static List<CancelledSuspect> in(Facts facts) {
    List<CancelledSuspect> found = new ArrayList<>();
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
            found.add(new CancelledSuspect(task, cancel.ended(), at, claim.number("to_fence")));
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
