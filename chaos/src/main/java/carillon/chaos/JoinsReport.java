package carillon.chaos;

import carillon.chaos.history.History;
import carillon.chaos.report.Exposure;
import carillon.chaos.report.HarnessProblems;
import carillon.chaos.report.RunFacts;
import carillon.chaos.rules.Findings;
import carillon.chaos.rules.Rule;
import carillon.chaos.rules.Violation;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The report of a run with nodes that join and leave.
 *
 * @param seconds duration of the run
 * @param facts such as commit and versions
 */
record JoinsReport(
    List<Joins.Change> changes,
    History history,
    Findings findings,
    long seconds,
    Map<String, String> facts) {

  private static final List<Rule> LOST = List.of(Rule.R1, Rule.R1B, Rule.R15);
  private static final List<Rule> DUPLICATED =
      List.of(Rule.R3, Rule.R3B, Rule.R4, Rule.R6, Rule.R10);

  boolean isPassed() {
    return findings.isClean()
        && unexplained() == 0
        && problems().isEmpty()
        && changes.size() == Joins.CHANGES
        && changes.stream().allMatch(Joins.Change::isEven);
  }

  /** Duplicate deliveries without a cause. */
  private int unexplained() {
    return findings.of(Rule.R3B).size();
  }

  private List<String> problems() {
    return HarnessProblems.in(history);
  }

  private int count(List<Rule> rules) {
    return rules.stream().mapToInt(rule -> findings.of(rule).size()).sum();
  }

  String page() {
    Exposure exposure = Exposure.of(List.of(history));
    StringBuilder page = new StringBuilder("# Nodes that join and leave under load\n\n");
    page.append(isPassed() ? "**OK** " : "**FAILED** ")
        .append(
            String.format(
                Locale.ROOT,
                "%d changes in %d s, %d with balanced shards afterwards; %,d tasks acknowledged,"
                    + " %,d deliveries; %d lost, %d duplicated, %d violations in total.\n\n",
                changes.size(),
                seconds,
                changes.stream().filter(Joins.Change::isEven).count(),
                exposure.of(Exposure.Counter.ACKNOWLEDGED),
                exposure.of(Exposure.Counter.DELIVERIES),
                count(LOST),
                count(DUPLICATED),
                findings.failures().size()));
    int explained = findings.duplicates().values().stream().mapToInt(each -> each).sum();
    page.append(
            "Deliveries after one that was accepted: %d with a known cause".formatted(explained))
        .append(explained == 0 ? "" : " " + findings.duplicates())
        .append(", %d without.\n\n".formatted(unexplained()));
    problems().forEach(problem -> page.append("- ").append(problem).append('\n'));
    page.append(problems().isEmpty() ? "" : "\n");
    page.append(
        "The time of a join starts when the node is ready, that of a leave when the node is asked"
            + " to stop. It ends when all shards are on the current nodes, and the counts of shards"
            + " differ by at most one. A shard that changes its node counts as one move.\n\n");
    facts.forEach(
        (name, value) -> page.append("- ").append(name).append(": ").append(value).append('\n'));
    page.append("\n| change | node | nodes after | balanced after | moves | shards |\n");
    page.append("|---|---|---:|---:|---:|---|\n");
    for (Joins.Change change : changes) {
      page.append(
          String.format(
              Locale.ROOT,
              "| %s | %s | %d | %s | %d | %s |\n",
              change.what(),
              change.node(),
              change.nodes(),
              change.isEven() ? change.evenAfter().toMillis() + " ms" : "never",
              change.moved(),
              change.shards().entrySet().stream()
                  .map(each -> each.getKey() + " " + each.getValue())
                  .collect(Collectors.joining(", "))));
    }
    if (!findings.isClean()) {
      page.append("\n## Violations\n\n");
      for (Violation violation : findings.failures()) {
        page.append("- ").append(violation).append('\n');
      }
    }
    return RunFacts.withoutPaths(page.toString());
  }
}
