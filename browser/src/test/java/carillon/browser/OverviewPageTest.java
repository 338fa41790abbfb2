package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import carillon.client.NewTask;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** How it goes, and what needs somebody. */
class OverviewPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static final Receiver receiver = new Receiver();

  @BeforeAll
  static void fill() {
    new Samples(dashboard.carillon(), receiver).make();
  }

  @AfterAll
  static void close() {
    receiver.close();
  }

  private static Locator tile(Page page, String name) {
    return page.locator(".tile", new Page.LocatorOptions().setHasText(name));
  }

  @Test
  void numbers_change_while_one_looks() {
    Page page = dashboard.open("/overview");
    assertThat(page.locator(".live")).containsText("Live");
    assertThat(tile(page, "Completed, last hour")).containsText(Pattern.compile("[4-9]\\d"));
    assertThat(tile(page, "In flight")).containsText("2");

    dashboard
        .carillon()
        .enqueueAll(IntStream.range(0, 500).mapToObj(_ -> NewTask.of("welcome-mail")).toList());

    assertThat(tile(page, "Completed, last hour")).containsText(Pattern.compile("5[4-9]\\d"));
  }

  @Test
  void what_needs_attention_leads_to_where_it_is_mended() {
    Page page = dashboard.open("/overview");
    Locator list = page.locator("ul.attentions");
    assertThat(list).containsText("Type newsletter is paused");
    assertThat(list).containsText("until the new bank is connected");

    page.locator("ul.attentions li", new Page.LocatorOptions().setHasText("invoice dies"))
        .getByRole(AriaRole.LINK)
        .click();

    assertThat(page).hasTitle("Dead letters · Carillon");
    assertThat(Parts.main(page)).containsText("the target responded with 500");
  }

  @Test
  void types_are_sorted_by_any_column() {
    Page page = dashboard.open("/overview");

    Locator table = page.locator("section[aria-labelledby=types] table");
    table.getByRole(AriaRole.BUTTON, new Locator.GetByRoleOptions().setName("Dead")).click();

    assertThat(table.locator("tbody tr").first()).containsText("invoice");
    assertThat(table.locator("th[aria-sort=descending]")).hasCount(1);
  }

  @Test
  void charts_have_their_numbers_as_a_table_too() {
    Page page = dashboard.open("/overview");
    Locator chart = page.locator("c-chart").first();
    assertThat(chart.locator("canvas"))
        .hasAttribute("aria-label", Pattern.compile("Tasks in a minute.*completed.*"));

    chart.getByText("as a table").click();
    assertThat(chart.locator("tbody tr").nth(59)).isVisible();
    Parts.button(page, "Last day").click();

    assertThat(chart.locator("tbody tr").nth(200)).isVisible();
  }

  @Test
  void an_admin_sees_every_tenant_and_goes_to_one() {
    Page page = dashboard.open("/overview", Look.LIGHT, dashboard.adminKey());

    Parts.button(page, dashboard.tenant()).click();

    assertThat(named(page)).hasValue(dashboard.tenant());
    assertThat(tile(page, "In flight")).containsText("2");
  }

  @Test
  void the_header_names_the_tenant_that_is_looked_at_whichever_way_it_was_chosen() {
    Page page = dashboard.open("/overview", Look.LIGHT, dashboard.adminKey());
    Locator named = named(page);

    named.selectOption(dashboard.tenant());
    assertThat(tile(page, "In flight")).containsText("2");
    Parts.button(page, "default").click();
    assertThat(named).hasValue("default");
    named.selectOption(dashboard.tenant());

    assertThat(named).hasValue(dashboard.tenant());
    assertThat(tile(page, "In flight")).containsText("2");
  }

  @Test
  void what_dies_while_one_looks_needs_attention_at_once() {
    receiver.answers("/hopeless", 422, "{}");
    dashboard.carillon().put("/v1/types/hopeless", Map.of("target", receiver.target("/hopeless")));
    Page page = dashboard.open("/overview");
    Locator attention = page.locator("section[aria-labelledby=attention]");
    assertThat(attention).containsText(Pattern.compile("looked (now|\\d+ s ago)"));
    assertThat(attention).not().containsText("hopeless");

    dashboard.carillon().enqueue(NewTask.of("hopeless"));

    assertThat(attention).containsText("hopeless dies");
  }

  @Test
  void a_node_that_others_reach_by_plain_http_needs_attention() {
    Page page = dashboard.open("/overview", Look.LIGHT, dashboard.adminKey());
    Locator attention = page.locator("section[aria-labelledby=attention]");
    assertThat(attention).containsText(Pattern.compile("looked (now|\\d+ s ago)"));
    assertThat(attention).not().containsText("Plain HTTP"); // it is bound to this machine
    page.route(
        "**/v1/cluster",
        route -> {
          String text = route.fetch().text();
          route.fulfill(
              new Route.FulfillOptions()
                  .setContentType("application/json")
                  .setBody(
                      text.replace("\"bind\":\"127.0.0.1\"", "\"bind\":\"0.0.0.0\"")
                          .replace("\"beyondLoopback\":false", "\"beyondLoopback\":true")));
        });

    Parts.button(page, "Look again").click();

    assertThat(attention).containsText("Plain HTTP is open to other machines");
    assertThat(attention).containsText("bound to 0.0.0.0");
  }

  @Test
  void a_look_that_fails_is_not_taken_for_a_good_one() {
    dashboard.expect(503);
    String key = dashboard.newKey("producer", "Calm", "welcome-mail");
    Page page = dashboard.open("/overview", Look.LIGHT, key);
    page.route("**/v1/dead-letters/groups*", route -> route.fulfill(unavailable()));

    Parts.button(page, "Look again").click();

    assertThat(Parts.alert(page)).isVisible();
    assertThat(Parts.main(page)).not().containsText("All is well");
  }

  /** The select in the header; the table of tenants has a similar name. */
  private static Locator named(Page page) {
    return page.getByLabel("Tenant", new Page.GetByLabelOptions().setExact(true));
  }

  private static Route.FulfillOptions unavailable() {
    return new Route.FulfillOptions().setStatus(503).setBody("{}");
  }

  @Test
  void a_key_for_some_types_sees_those_only() {
    String key = dashboard.newKey("producer", "Mailer", "welcome-mail");
    Page page = dashboard.open("/overview", Look.LIGHT, key);

    assertThat(Parts.main(page)).containsText("welcome-mail");
    assertThat(Parts.main(page)).not().containsText("invoice");
  }
}
