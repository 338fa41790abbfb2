package carillon.chaos.rules;

import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Deliveries after one that the receiver had accepted. Delivery is at least once, so there are
 * some; each must have a cause that the harness brought about, and how many had which is published.
 */
public final class Duplicates {

  /** The receiver's clock starts a little after the sender's. */
  private static final long HEAD_START = 200_000;

  /** What makes the database slower, or a session look for another, makes nothing happen twice. */
  private static final Set<String> HARMLESS = Set.of("held-snapshot", "backend-kill-idle");

  private final Map<String, Integer> explained = new TreeMap<>();
  private final List<Violation> unexplained = new ArrayList<>();

  private Duplicates() {}

  static List<Violation> unexplained(Facts facts) {
    return in(facts).unexplained;
  }

  public static Duplicates in(Facts facts) {
    Duplicates duplicates = new Duplicates();
    facts.deliveries().forEach((task, deliveries) -> duplicates.judge(facts, task, deliveries));
    return duplicates;
  }

  /** How many there were, by what explains them. */
  public Map<String, Integer> explained() {
    return explained;
  }

  private void judge(Facts facts, String task, List<Delivery> deliveries) {
    Map<Long, @Nullable String> holders = holders(facts, task);
    for (int i = 1; i < deliveries.size(); i++) {
      Delivery before = deliveries.get(i - 1);
      Delivery again = deliveries.get(i);
      if (!before.isOk()) {
        continue;
      }
      String why = why(facts, task, before, again, holders.get(before.fence()));
      if (why == null) {
        unexplained.add(
            Violation.of(
                Rule.R3B,
                task,
                "fence %d was accepted, and fence %d was sent %d ms later for no known reason",
                before.fence(),
                again.fence(),
                (again.began() - before.ended()) / 1000));
      } else {
        explained.merge(why, 1, Integer::sum);
      }
    }
  }

  private static @Nullable String why(
      Facts facts, String task, Delivery before, Delivery again, @Nullable String holder) {
    if (before.ended() - before.began() >= facts.timeout() - HEAD_START) {
      return "timeout";
    }
    if (facts.mayBeRedriven(task, before.began(), again.began())) {
      return "redrive";
    }
    Fault general = null;
    for (Fault fault : facts.faults()) {
      if (!HARMLESS.contains(fault.kind())
          && fault.mayConcern(holder)
          && fault.overlaps(before.began(), again.began(), facts.lease())) {
        if (fault.node() != null) {
          return fault.kind();
        }
        general = general == null ? fault : general;
      }
    }
    if (general != null) {
      return general.kind();
    }
    return hasLostLease(facts, task, before.fence()) ? "lease lost" : null;
  }

  /** Whether its holder's lease was over when somebody else ended the claim. */
  private static boolean hasLostLease(Facts facts, String task, long fence) {
    for (Row change : facts.changes(task)) {
      Long until = change.micros("held_until");
      if ("RUNNING".equals(change.text("from_state"))
          && !"RUNNING".equals(change.text("to_state"))
          && change.number("from_fence") == fence) {
        return until != null && until <= Facts.at(change);
      }
    }
    return false;
  }

  private static Map<Long, @Nullable String> holders(Facts facts, String task) {
    Map<Long, @Nullable String> holders = new HashMap<>();
    for (Row change : facts.changes(task)) {
      if ("RUNNING".equals(change.text("from_state"))) {
        holders.put(change.number("from_fence"), change.text("holder"));
      }
    }
    return holders;
  }
}
