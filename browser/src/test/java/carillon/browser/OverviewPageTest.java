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

/** The overview: figures, attention, charts, types and tenants. */
class OverviewPageTest {

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

  private static Locator tile(Page page, String name) {
    return page.locator(".tile", new Page.LocatorOptions().setHasText(name));
  }

  @Test
  void figures_update_live() {
    Page page = dashboard.open("/overview");
    assertThat(page.locator(".live")).containsText("Live");
    assertThat(tile(page, "Completed (1h)")).containsText(Pattern.compile("[4-9]\\d"));
    assertThat(tile(page, "In flight")).containsText("2");

    dashboard
        .carillon()
        .enqueueAll(IntStream.range(0, 500).mapToObj(_ -> NewTask.of("welcome-mail")).toList());

    assertThat(tile(page, "Completed (1h)")).containsText(Pattern.compile("5[4-9]\\d"));
  }

  @Test
  void attention_items_link_to_the_page_where_they_are_fixed() {
    Page page = dashboard.open("/overview");
    Locator list = page.locator("ul.attentions");
    assertThat(list).containsText("Type newsletter is paused");
    assertThat(list).containsText("until the new bank is connected");

    page.locator("ul.attentions li", new Page.LocatorOptions().setHasText("invoice is failing"))
        .getByRole(AriaRole.LINK)
        .click();

    assertThat(page).hasTitle("Dead letters · Carillon");
    assertThat(Parts.main(page)).containsText("HTTP 500 from target");
  }

  @Test
  void types_can_be_sorted_by_any_column() {
    Page page = dashboard.open("/overview");

    Locator table = page.locator("section[aria-labelledby=types] table");
    table
        .getByRole(AriaRole.BUTTON, new Locator.GetByRoleOptions().setName("Dead").setExact(true))
        .click();

    assertThat(table.locator("tbody tr").first()).containsText("invoice");
    assertThat(table.locator("th[aria-sort=descending]")).hasCount(1);
  }

  @Test
  void charts_also_show_their_numbers_as_a_table() {
    Page page = dashboard.open("/overview");
    Locator chart = page.locator("c-chart").first();
    assertThat(chart.locator("canvas"))
        .hasAttribute("aria-label", Pattern.compile("Tasks per minute.*completed.*"));

    chart.getByText("Show as table").click();
    assertThat(chart.locator("tbody tr").nth(59)).isVisible();
    Parts.button(page, "Last 24 hours").click();

    assertThat(chart.locator("tbody tr").nth(200)).isVisible();
  }

  @Test
  void an_admin_sees_every_tenant_and_switches_to_one() {
    Page page = dashboard.open("/overview", Look.LIGHT, dashboard.adminKey());

    Parts.button(page, dashboard.tenant()).click();

    assertThat(tenantSelect(page)).hasValue(dashboard.tenant());
    assertThat(tile(page, "In flight")).containsText("2");
  }

  @Test
  void the_top_bar_names_the_current_tenant_however_it_was_chosen() {
    Page page = dashboard.open("/overview", Look.LIGHT, dashboard.adminKey());
    Locator tenantSelect = tenantSelect(page);

    tenantSelect.selectOption(dashboard.tenant());
    assertThat(tile(page, "In flight")).containsText("2");
    Parts.button(page, "default").click();
    assertThat(tenantSelect).hasValue("default");
    tenantSelect.selectOption(dashboard.tenant());

    assertThat(tenantSelect).hasValue(dashboard.tenant());
    assertThat(tile(page, "In flight")).containsText("2");
  }

  @Test
  void new_dead_letters_need_attention_immediately() {
    receiver.respond("/hopeless", 422, "{}");
    dashboard.carillon().put("/v1/types/hopeless", Map.of("target", receiver.target("/hopeless")));
    Page page = dashboard.open("/overview");
    Locator attention = page.locator("section[aria-labelledby=attention]");
    assertThat(attention).containsText(Pattern.compile("updated (now|\\d+ s ago)"));
    assertThat(attention).not().containsText("hopeless");

    dashboard.carillon().enqueue(NewTask.of("hopeless"));

    assertThat(attention).containsText("hopeless is failing");
  }

  @Test
  void a_node_exposed_over_plain_http_needs_attention() {
    Page page = dashboard.open("/overview", Look.LIGHT, dashboard.adminKey());
    Locator attention = page.locator("section[aria-labelledby=attention]");
    assertThat(attention).containsText(Pattern.compile("updated (now|\\d+ s ago)"));
    assertThat(attention).not().containsText("Plain HTTP"); // the node is bound to loopback
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

    Parts.button(page, "Refresh").click();

    assertThat(attention).containsText("Plain HTTP is open to other machines");
    assertThat(attention).containsText("bound to 0.0.0.0");
  }

  @Test
  void a_failed_refresh_is_not_shown_as_healthy() {
    dashboard.expect(503);
    String key = dashboard.newKey("producer", "Calm", "welcome-mail");
    Page page = dashboard.open("/overview", Look.LIGHT, key);
    page.route("**/v1/dead-letters/groups*", route -> route.fulfill(unavailable()));

    Parts.button(page, "Refresh").click();

    assertThat(Parts.alert(page)).isVisible();
    assertThat(Parts.main(page)).not().containsText("All healthy");
  }

  /** The select in the top bar; the table of tenants has a similar name. */
  private static Locator tenantSelect(Page page) {
    return page.getByLabel("Tenant", new Page.GetByLabelOptions().setExact(true));
  }

  private static Route.FulfillOptions unavailable() {
    return new Route.FulfillOptions().setStatus(503).setBody("{}");
  }

  @Test
  void a_key_limited_to_types_sees_only_those() {
    String key = dashboard.newKey("producer", "Mailer", "welcome-mail");
    Page page = dashboard.open("/overview", Look.LIGHT, key);

    assertThat(Parts.main(page)).containsText("welcome-mail");
    assertThat(Parts.main(page)).not().containsText("invoice");
  }
}
