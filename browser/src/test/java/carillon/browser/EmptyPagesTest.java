package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Page;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pages without data explain what would be there and how to create it. */
class EmptyPagesTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  @ParameterizedTest
  @CsvSource({
    "/overview, /v1/tasks",
    "/tasks, /v1/tasks",
    "/schedules, /v1/schedules/",
    "/types, /v1/types/",
  })
  void an_empty_page_shows_the_command_that_fills_it(String route, String path) {
    Page page = dashboard.open(route);

    assertThat(Parts.main(page)).containsText("curl");
    assertThat(Parts.main(page)).containsText(path);
    assertThat(Parts.main(page)).containsText("$CARILLON_KEY");
    Dashboard.screenshot(page, "empty" + route.replace('/', '-'), Look.LIGHT);
    Axe.check(page, route + " without data");
  }

  @Test
  void commands_that_the_key_may_not_run_are_not_shown() {
    String key = dashboard.newKey("producer", "Invoices", "invoice");
    Page page = dashboard.open("/overview", Look.LIGHT, key);
    assertThat(Parts.main(page)).containsText("\"type\": \"invoice\"");

    Dashboard.go(page, "/schedules");

    assertThat(page.locator("main .empty")).containsText("No schedules for this key's types");
    assertThat(Parts.main(page)).not().containsText("curl");
  }

  @Test
  void an_empty_list_of_dead_letters_shows_a_message() {
    Page page = dashboard.open("/dead-letters");

    assertThat(page.locator("main .empty")).isVisible();
    Axe.check(page, "no dead letters");
  }

  @ParameterizedTest
  @CsvSource({
    "/tasks/01890000-0000-7000-8000-000000000000",
    "/tasks/not-an-id",
    "/schedules/none",
    "/types/none"
  })
  void a_missing_object_is_reported_as_not_found(String route) {
    dashboard.expect(404);
    dashboard.expect(400);
    Page page = dashboard.open(route);

    assertThat(Parts.alert(page).or(page.locator("main .empty")).first()).isVisible();
    Axe.check(page, route);
  }

  @Test
  void an_unknown_route_shows_a_page() {
    Page page = dashboard.open("/no/such/page?x=%3Cb%3E");

    assertThat(Parts.heading(page)).isVisible();
  }
}
