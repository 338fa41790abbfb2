package carillon.chaos.rules;

import carillon.chaos.history.History;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The findings of all rules in one history.
 *
 * @param duplicates explained duplicates, by cause
 * @param untried rules for which the history contains nothing to check
 */
public record Findings(
    Map<Rule, List<Violation>> violations, Map<String, Integer> duplicates, Set<Rule> untried) {

  public static Findings of(History history) {
    Facts facts = new Facts(history);
    Map<Rule, List<Violation>> violations = new EnumMap<>(Rule.class);
    Set<Rule> untried = EnumSet.noneOf(Rule.class);
    for (Rule rule : Rule.values()) {
      violations.put(rule, rule.check(facts));
      if (!rule.isTried(history)) {
        untried.add(rule);
      }
    }
    return new Findings(violations, Duplicates.in(facts).explained(), untried);
  }

  /**
   * Whether the history contains anything that the rule can check. Otherwise the absence of
   * violations proves nothing.
   */
  public boolean isTried(Rule rule) {
    return !untried.contains(rule);
  }

  public List<Violation> of(Rule rule) {
    return violations.getOrDefault(rule, List.of());
  }

  /** Violations of all rules that are not warnings. */
  public List<Violation> failures() {
    List<Violation> failures = new ArrayList<>();
    violations.forEach(
        (rule, some) -> {
          if (!rule.isWarning()) {
            failures.addAll(some);
          }
        });
    return failures;
  }

  public boolean isClean() {
    return failures().isEmpty();
  }
}
