package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Page;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The dashboard without a mouse. */
class KeyboardTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static final Receiver receiver = new Receiver();

  @BeforeAll
  static void fill() {
    new Samples(dashboard.carillon(), receiver).create();
  }

  @AfterAll
  static void close() {
    receiver.close();
  }

  @Test
  void shortcuts_open_every_page_and_focus_its_heading() {
    Page page = dashboard.open("/settings", Look.LIGHT, dashboard.adminKey());
    for (String place :
        new String[] {
          "o Overview",
          "t Tasks",
          "d Dead letters",
          "s Schedules",
          "y Types",
          "c Cluster",
          "e Settings"
        }) {
      page.keyboard().press("g");
      page.keyboard().press(place.substring(0, 1));

      assertThat(page).hasTitle(place.substring(2) + " · Carillon");
      assertThat(Parts.heading(page)).isFocused();
    }
    Dashboard.go(page, "/nowhere?x=1");
    assertThat(page).hasTitle("Page not found · Carillon");
    assertThat(Parts.main(page)).containsText("#/nowhere?x=1");
    Axe.check(page, "no such page");
  }

  @Test
  void the_question_mark_shows_the_shortcuts_and_escape_restores_the_focus() {
    Page page = dashboard.open("/tasks");

    page.keyboard().press("?");
    assertThat(Parts.dialog(page)).containsText("Search");
    Axe.check(page, "keyboard help");
    page.keyboard().press("Escape");

    assertThat(Parts.dialog(page)).hasCount(0);
    assertThat(Parts.heading(page)).isFocused();
  }

  @Test
  void the_first_tab_stop_skips_the_navigation() {
    Page page = dashboard.open("/tasks");

    page.locator("a, button, input, select").first().focus();
    assertThat(page.locator("a.skip")).isFocused();
    assertThat(page.locator("a.skip")).isInViewport();
    page.keyboard().press("Enter");

    assertThat(page.locator("main")).isFocused();
  }

  @Test
  void a_dead_task_is_found_and_redriven_with_the_keyboard_alone() {
    receiver.respond("/invoice", 200, "{\"ok\":true}");
    Page page = dashboard.open("/overview");

    page.keyboard().press("g");
    page.keyboard().press("t");
    assertThat(page).hasTitle("Tasks · Carillon");
    page.keyboard().press("/");
    page.keyboard().type(Samples.ORDER);
    page.keyboard().press("Enter");
    tabTo(page, "main tbody a");
    page.keyboard().press("Enter");
    assertThat(Parts.main(page)).containsText(Samples.REASON);
    tabTo(page, "main button:text-is('Redrive')");
    page.keyboard().press("Enter");

    assertThat(Parts.main(page)).containsText("Completed");
    assertThat(Parts.heading(page)).isFocused(); // the button is gone
  }

  @ParameterizedTest
  @CsvSource({"/overview", "/tasks", "/dead-letters", "/schedules", "/types", "/settings"})
  void every_tab_stop_is_visible_and_none_traps_the_focus(String route) {
    Page page = dashboard.open(route);
    page.locator("a.skip").focus();
    int stops = 0;
    do {
      page.keyboard().press("Tab");
      Assertions.assertThat(page.evaluate(IS_FOCUS_VISIBLE))
          .as("stop %d of %s", stops, route)
          .isEqualTo("");
      stops++;
    } while (stops < MAX_STOPS && !(boolean) page.evaluate(IS_REVISITED));

    Assertions.assertThat(stops).isBetween(8, MAX_STOPS - 1);
  }

  private static final int MAX_STOPS = 400;

  /** Whether every tab stop was visited: the focus left the page, or is on an earlier stop. */
  private static final String IS_REVISITED =
      """
      () => {
        const at = document.activeElement;
        window.stops ??= new Set();
        const again = at === document.body || window.stops.has(at);
        window.stops.add(at);
        return again;
      }
      """;

  /** Empty if the focus is visible. */
  private static final String IS_FOCUS_VISIBLE =
      """
      () => {
        const at = document.activeElement;
        if (at === document.body) return '';
        const box = at.getBoundingClientRect();
        const style = getComputedStyle(at);
        const marked = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
        return box.width > 0 && box.height > 0 && marked ? '' : at.outerHTML.slice(0, 200);
      }
      """;

  private static void tabTo(Page page, String selector) {
    for (int i = 0; i < 200; i++) {
      if (page.locator(selector).first().isVisible()
          && (boolean)
              page.locator(selector).first().evaluate("e => e === document.activeElement")) {
        return;
      }
      page.keyboard().press("Tab");
    }
    throw new AssertionError("no way to " + selector);
  }
}
