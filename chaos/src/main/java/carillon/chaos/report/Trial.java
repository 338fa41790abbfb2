package carillon.chaos.report;

import carillon.chaos.mutants.Mutant;
import carillon.chaos.rules.Rule;
import carillon.chaos.rules.Violation;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The result of a mutant, or of the unmodified program, in one scenario.
 *
 * @param mutant null for the unmodified program
 * @param found violations of rules
 * @param problem why the trial did not run or had too little exposure; null if it counts
 * @param listing everything known about the tasks that broke rules, if the trial did not pass
 */
public record Trial(
    @Nullable Mutant mutant,
    Mutant.Scenario scenario,
    List<Violation> found,
    @Nullable String problem,
    String listing) {

  public static Trial unfinished(@Nullable Mutant mutant, Mutant.Scenario scenario) {
    return new Trial(mutant, scenario, List.of(), "did not finish", "");
  }

  /** Whether the rule caught the mutant, or the unmodified program broke no rule. */
  public boolean isPassed() {
    return problem == null
        && (mutant == null ? found.isEmpty() : found.stream().anyMatch(mutant::isCaughtBy));
  }

  /** Whether the mutant survived, or the unmodified program broke a rule. */
  public boolean isFailed() {
    return mutant == null ? !found.isEmpty() : problem == null && !isPassed();
  }

  public String name() {
    return mutant == null ? "unmodified, " + scenario.name() : mutant.name();
  }

  /** The rules that were broken. */
  Set<Rule> rules() {
    Set<Rule> rules = new LinkedHashSet<>();
    found.forEach(violation -> rules.add(violation.rule()));
    return rules;
  }
}
