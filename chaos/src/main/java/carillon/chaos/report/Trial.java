package carillon.chaos.report;

import carillon.chaos.mutants.Mutant;
import carillon.chaos.rules.Rule;
import carillon.chaos.rules.Violation;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What came of one mutant, or of the program as it is, in one scenario.
 *
 * @param mutant null for the program as it is
 * @param found what rules found; all of it where the program should be right
 * @param trouble why it was not played, or not enough of it; null if it was
 * @param listing all that is known of the tasks that broke rules, where it is not as it should be
 */
public record Trial(
    @Nullable Mutant mutant,
    Mutant.Scenario scenario,
    List<Violation> found,
    @Nullable String trouble,
    String listing) {

  public static Trial notEnded(@Nullable Mutant mutant, Mutant.Scenario scenario) {
    return new Trial(mutant, scenario, List.of(), "did not end", "");
  }

  /** Whether it is as it should be. */
  public boolean isPassed() {
    return trouble == null
        && (mutant == null ? found.isEmpty() : found.stream().anyMatch(mutant::isCaughtBy));
  }

  /** Whether it is known to be not as it should be: the program is wrong, or the mutant lives. */
  public boolean isFailed() {
    return mutant == null ? !found.isEmpty() : trouble == null && !isPassed();
  }

  public String name() {
    return mutant == null ? "as it is, " + scenario.name() : mutant.name();
  }

  /** The rules that were broken, as shown in the report. */
  Set<Rule> rules() {
    Set<Rule> rules = new LinkedHashSet<>();
    found.forEach(violation -> rules.add(violation.rule()));
    return rules;
  }
}
