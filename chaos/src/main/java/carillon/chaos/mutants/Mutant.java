package carillon.chaos.mutants;

import carillon.chaos.rules.Rule;
import carillon.chaos.rules.Violation;
import java.util.List;

/**
 * The program with one defect.
 *
 * @param name such as M1
 * @param defect what the program does wrong, for the report
 * @param edits of the program's classes
 * @param sql executed in the database after the migrations
 * @param scenario exposes the defect
 * @param caughtBy the rule that must report the defect
 * @param expectedText part of the violation that counts; empty for any violation of the rule
 */
public record Mutant(
    String name,
    String defect,
    List<Edit> edits,
    List<String> sql,
    Scenario scenario,
    Rule caughtBy,
    String expectedText) {

  Mutant(
      String name,
      String defect,
      List<Edit> edits,
      List<String> sql,
      Scenario scenario,
      Rule caughtBy) {
    this(name, defect, edits, sql, scenario, caughtBy, "");
  }

  public boolean isCaughtBy(Violation violation) {
    return violation.rule() == caughtBy && violation.what().contains(expectedText);
  }

  /** The load and the faults that expose a defect. */
  public enum Scenario {
    /** Pull workers report late, with old tokens, or for longer than their lease. */
    WORKERS(1),
    /** Deliveries fail, are cancelled and redriven, and another tenant tries to read tasks. */
    DELIVERIES(1),
    /** The database crashes while tasks are submitted. */
    DATABASE_CRASH(1),
    /** The node is killed while tasks are submitted. */
    NODE_CRASH(1),
    /** Schedules fire. */
    SCHEDULES(1),
    /** The leader is paused for longer than the leader lease. */
    LEADER_PAUSE(2),
    /** Tasks go to a host name that changes its address all the time. */
    NAMES(1),
    /** One task kills every node that runs it, among other tasks. */
    POISON(1),
    /** Suspects are cancelled while their node holds them back. */
    SUSPECTS(1),
    /** Tasks are edited all the time until they start. */
    EDITS(1);

    private final int nodes;

    Scenario(int nodes) {
      this.nodes = nodes;
    }

    public int nodes() {
      return nodes;
    }

    /** Whether the scenario needs its own database server, because it breaks the server. */
    public boolean needsOwnDatabase() {
      return this == DATABASE_CRASH;
    }
  }
}
