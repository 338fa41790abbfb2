package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * No deadlock may involve the reaper or a wait for the row of a claim: claim rows are locked last
 * and in one order, and the reaper never waits for a task. Other deadlocks are allowed: two batches
 * that want the same tasks in opposite orders may have one, and the batch that PostgreSQL aborts is
 * retried.
 */
public final class Deadlocks {

  /** Separates the statements of an event. */
  public static final String SEPARATOR = ", ";

  private static final String REAPER =
      "HeldClaims."; // also the last report of a claim, which deletes its row
  private static final Set<String> LOCKING_CLAIMS =
      Set.of("Outcomes.retire", "LeaseRenewals.checkSooner");

  /** Statements of the harness may lock in any order. */
  private static final String HARNESS = "FaultInjector.";

  private Deadlocks() {}

  static List<Violation> ofClaims(Facts facts) {
    List<Violation> found = new ArrayList<>();
    for (Event event : facts.history().events()) {
      if (event.is("deadlock")) {
        List<String> statements = List.of(event.need("statements").split(SEPARATOR, -1));
        boolean isOfProgram = statements.stream().noneMatch(name -> name.startsWith(HARNESS));
        if (isOfProgram && statements.stream().anyMatch(Deadlocks::isForbidden)) {
          found.add(
              Violation.of(
                  Rule.R24,
                  null,
                  "deadlock of %s at %s",
                  String.join(" and ", statements),
                  event.text("logged")));
        }
      }
    }
    return found;
  }

  private static boolean isForbidden(String statement) {
    return statement.startsWith(REAPER) || LOCKING_CLAIMS.contains(statement);
  }

  /** Whether the log was read and the reaper had something to reclaim. */
  static boolean isTried(History history) {
    return history.events().stream().anyMatch(event -> event.is("database-log"))
        && history.rows(Table.TRANSITION).stream().anyMatch(r -> "reaper".equals(r.text("who")));
  }
}
