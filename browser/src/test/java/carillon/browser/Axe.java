package carillon.browser;

import static org.assertj.core.api.Assertions.assertThat;

import com.deque.html.axecore.args.AxeRunOptions;
import com.deque.html.axecore.playwright.AxeBuilder;
import com.deque.html.axecore.results.Rule;
import com.microsoft.playwright.Page;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Checks the accessibility of a page with axe-core. */
final class Axe {

  private static final Set<String> SEVERE = Set.of("serious", "critical");

  private Axe() {}

  /** Fails on serious and critical violations. */
  static void check(Page page, String description) {
    // Describing the elements that pass would take longer than the check itself.
    AxeRunOptions options = new AxeRunOptions();
    options.setResultTypes(List.of("violations"));
    assertThat(new AxeBuilder(page).setLegacyMode(true).options(options).analyze().getViolations())
        .as(description)
        .filteredOn(rule -> SEVERE.contains(rule.getImpact()))
        .extracting(Axe::describe)
        .isEmpty();
  }

  private static String describe(Rule rule) {
    return rule.getNodes().stream()
        .limit(5)
        .map(node -> node.getHtml() + " (" + node.getFailureSummary() + ")")
        .collect(Collectors.joining("\n  ", rule.getId() + ": " + rule.getHelp() + "\n  ", "\n"));
  }
}
