package carillon.chaos.rules;

import carillon.chaos.history.History;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What all rules found in one history.
 *
 * @param duplicates explained ones, by what explains them
 * @param untried rules to which nothing happened that they could have judged
 */
public record Verdict(
    Map<Rule, List<Violation>> violations, Map<String, Integer> duplicates, Set<Rule> untried) {

  public static Verdict on(History history) {
    Facts facts = new Facts(history);
    Map<Rule, List<Violation>> violations = new EnumMap<>(Rule.class);
    Set<Rule> untried = EnumSet.noneOf(Rule.class);
    for (Rule rule : Rule.values()) {
      violations.put(rule, rule.check(facts));
      if (!rule.isTried(history)) {
        untried.add(rule);
      }
    }
    return new Verdict(violations, Duplicates.in(facts).explained(), untried);
  }

  /** Whether there was anything that the rule could judge: none found says nothing otherwise. */
  public boolean isTried(Rule rule) {
    return !untried.contains(rule);
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
