package carillon.chaos.rules;

import carillon.chaos.history.History;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What all rules found in one history.
 *
 * @param duplicates explained ones, by what explains them
 */
public record Verdict(Map<Rule, List<Violation>> violations, Map<String, Integer> duplicates) {

  public static Verdict on(History history) {
    Facts facts = new Facts(history);
    Map<Rule, List<Violation>> violations = new EnumMap<>(Rule.class);
    for (Rule rule : Rule.values()) {
      violations.put(rule, rule.check(facts));
    }
    return new Verdict(violations, Duplicates.in(facts).explained());
  }

  public List<Violation> of(Rule rule) {
    return violations.getOrDefault(rule, List.of());
  }

  /** Those that condemn. */
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
