package carillon.chaos.report;

import carillon.chaos.history.History;
import carillon.chaos.rules.Findings;
import java.util.List;

/** One run, and what the rules say of it. */
public record Seed(long number, History history, Findings findings) {

  public static Seed of(long number, History history) {
    return new Seed(number, history, Findings.of(history));
  }

  /** Why what the rules say is worth less; empty if nothing is known of that kind. */
  public List<String> troubles() {
    return Troubles.in(history);
  }

  public String name() {
    return Long.toUnsignedString(number);
  }
}
