package carillon.chaos.mutants;

import carillon.chaos.rules.Rule;
import carillon.chaos.rules.Violation;
import java.util.List;

/**
 * A program that is broken in one way.
 *
 * @param name as M1
 * @param breaks what it does wrong
 * @param edits of the program's classes
 * @param sql run on its database once that is there
 * @param scenario what exposes it
 * @param caughtBy the rule that must fire
 * @param saying what it must say; empty where anything will do
 */
public record Mutant(
    String name,
    String breaks,
    List<Edit> edits,
    List<String> sql,
    Scenario scenario,
    Rule caughtBy,
    String saying) {

  Mutant(
      String name,
      String breaks,
      List<Edit> edits,
      List<String> sql,
      Scenario scenario,
      Rule caughtBy) {
    this(name, breaks, edits, sql, scenario, caughtBy, "");
  }

  public boolean isCaughtBy(Violation violation) {
    return violation.rule() == caughtBy && violation.what().contains(saying);
  }

  /** What is done to a program to see whether it is broken. */
  public enum Scenario {
    /** Workers pull, report late, with old tokens, and for longer than their lease. */
    WORKERS(1),
    /** Deliveries fail, are cancelled and redriven, strangers look. */
    DELIVERIES(1),
    /** The database crashes under submits. */
    DATABASE_CRASH(1),
    /** The node is killed under submits. */
    NODE_CRASH(1),
    /** Schedules fire. */
    SCHEDULES(1),
    /** The leader is paused for longer than its lease and then resumed. */
    LEADER_PAUSE(2),
    /** A host name changes its address all the time. */
    NAMES(1),
    /** A task kills whichever node runs it, among others that do no harm. */
    POISON(1),
    /** Tasks that a node may have died of are cancelled while they wait for their group. */
    SUSPECTS(1);

    private final int nodes;

    Scenario(int nodes) {
      this.nodes = nodes;
    }

    public int nodes() {
      return nodes;
    }

    /** Whether it breaks what others need, and so needs a database of its own. */
    public boolean isAlone() {
      return this == DATABASE_CRASH;
    }
  }
}
