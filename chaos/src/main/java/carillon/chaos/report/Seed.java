package carillon.chaos.report;

import carillon.chaos.history.History;
import carillon.chaos.rules.Findings;
import java.util.List;

/** The run of one seed, and the findings of the rules. */
public record Seed(long number, History history, Findings findings) {

  public static Seed of(long number, History history) {
    return new Seed(number, history, Findings.of(history));
  }

  /** Reasons why the findings may be unreliable; empty if there are none. */
  public List<String> problems() {
    return HarnessProblems.in(history);
  }

  public String name() {
    return Long.toUnsignedString(number);
  }
}
