package carillon.browser;

import static org.assertj.core.api.Assertions.assertThat;

import com.deque.html.axecore.args.AxeRunOptions;
import com.deque.html.axecore.playwright.AxeBuilder;
import com.deque.html.axecore.results.Rule;
import com.microsoft.playwright.Page;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** What axe-core has to say about a page. */
final class Axe {

  private static final Set<String> GRAVE = Set.of("serious", "critical");

  private Axe() {}

  /** Fails if some people could not use the page as it is. */
  static void check(Page page, String what) {
    // Of what passes it would describe every element, which takes longer than to look at them.
    AxeRunOptions options = new AxeRunOptions();
    options.setResultTypes(List.of("violations"));
    assertThat(new AxeBuilder(page).setLegacyMode(true).options(options).analyze().getViolations())
        .as(what)
        .filteredOn(rule -> GRAVE.contains(rule.getImpact()))
        .extracting(Axe::said)
        .isEmpty();
  }

  private static String said(Rule rule) {
    return rule.getNodes().stream()
        .limit(5)
        .map(node -> node.getHtml() + " (" + node.getFailureSummary() + ")")
        .collect(Collectors.joining("\n  ", rule.getId() + ": " + rule.getHelp() + "\n  ", "\n"));
  }
}
