package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * The walkthrough of docs/dashboard.md: a customer asks for the invoice of order 1042. The user
 * finds out why its task failed and redrives it, guided only by the labels on the pages.
 */
class WalkTest {

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
  @Timeout(value = 1, unit = TimeUnit.MINUTES)
  void a_new_user_finds_why_a_task_failed_and_redrives_it() {
    Page page = dashboard.open("/overview");
    Dashboard.screenshot(page, "walk-1-overview", Look.LIGHT);

    Parts.link(page, "Tasks").click();
    page.getByRole(AriaRole.SEARCHBOX).first().fill(Samples.ORDER);
    page.keyboard().press("Enter");
    assertThat(Parts.rows(page, Samples.ORDER)).hasCount(1);
    assertThat(Parts.rows(page, Samples.ORDER)).containsText("Dead");
    Dashboard.screenshot(page, "walk-2-found", Look.LIGHT);

    Parts.rows(page, Samples.ORDER).getByRole(AriaRole.LINK).first().click();
    assertThat(Parts.main(page)).containsText(Samples.REASON);
    assertThat(Parts.main(page)).containsText("500");
    assertThat(page.locator("section[aria-label=Details]")).containsText("/invoice");
    Dashboard.screenshot(page, "walk-3-why", Look.LIGHT);

    receiver.respond("/invoice", 200, "{\"invoice\":\"2026-1042\"}"); // the tax rate was added
    Parts.button(page, "Redrive").click();
    assertThat(Parts.main(page)).containsText("Completed"); // without a reload
    assertThat(Parts.main(page)).containsText("2026-1042");
    Dashboard.screenshot(page, "walk-4-done", Look.LIGHT);
  }
}
