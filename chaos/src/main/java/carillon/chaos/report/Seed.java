package carillon.chaos.report;

import carillon.chaos.history.History;
import carillon.chaos.rules.Verdict;

/** One run, and what the rules say of it. */
public record Seed(long number, History history, Verdict verdict) {

  public static Seed of(long number, History history) {
    return new Seed(number, history, Verdict.on(history));
  }

  public String name() {
    return Long.toUnsignedString(number);
  }
}
