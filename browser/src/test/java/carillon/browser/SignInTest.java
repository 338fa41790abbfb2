package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Page;
import com.microsoft.playwright.Request;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.WaitUntilState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Sign-in, sign-out, stored settings and the tenant in the address. */
class SignInTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  @Test
  void sign_in_opens_the_requested_page() {
    Page page = dashboard.openSignedOut("/types", Look.LIGHT);
    Axe.check(page, "signed out");
    Dashboard.screenshot(page, "sign-in", Look.LIGHT);

    Dashboard.signIn(page, dashboard.ownerKey());

    assertThat(page).hasTitle("Types · Carillon");
    assertThat(page.getByRole(AriaRole.NAVIGATION).first()).containsText("Overview");
  }

  @Test
  void an_invalid_key_is_rejected_and_not_stored() {
    dashboard.expect(401);
    Page page = dashboard.openSignedOut("/", Look.LIGHT);

    Dashboard.signIn(page, "not-a-key");

    assertThat(Parts.alert(page)).containsText("Invalid API key");
    Assertions.assertThat(stored(page)).doesNotContain("not-a-key");
    Axe.check(page, "refused");
  }

  @Test
  void a_key_is_stored_only_in_its_tab_and_until_sign_out() {
    Page page = dashboard.open("/overview");
    page.reload();
    Dashboard.awaitLoaded(page);
    Assertions.assertThat(page.evaluate("() => JSON.stringify({...localStorage})").toString())
        .doesNotContain(dashboard.ownerKey());
    Assertions.assertThat(page.content()).doesNotContain(dashboard.ownerKey());
    Page another = dashboard.openSignedOut("/overview", Look.LIGHT);
    assertThat(another.getByLabel("API key")).isVisible();
    another.close();

    Parts.button(page, "Sign out").click();
    Parts.confirm(page, "Sign out");

    assertThat(page.getByLabel("API key")).isVisible();
    Assertions.assertThat(stored(page)).doesNotContain(dashboard.ownerKey());
  }

  @Test
  void a_revoked_key_is_signed_out_with_a_message() {
    dashboard.expect(401);
    String key = dashboard.newKey("viewer", "Soon gone");
    Page page = dashboard.open("/overview", Look.LIGHT, key);

    dashboard.revoke(key);
    Dashboard.goWithoutWaiting(page, "/types");

    assertThat(page.getByLabel("API key")).isVisible();
    assertThat(page.getByRole(AriaRole.STATUS).first()).containsText("expired or revoked");
  }

  @Test
  void the_chosen_theme_is_stored() {
    Page page = dashboard.open("/overview");
    page.getByLabel("Theme").selectOption("dark");
    page.reload();

    assertThat(page.locator("html")).hasAttribute("data-theme", "dark");
    page.getByLabel("Theme").selectOption("auto");
    assertThat(page.locator("html")).hasAttribute("data-theme", "light"); // the system's theme
  }

  @Test
  void an_admin_sees_any_tenant_and_others_only_their_own() {
    dashboard.carillon().put("/v1/types/mine", Map.of());
    Page page = dashboard.open("/types", Look.LIGHT, dashboard.adminKey());
    assertThat(Parts.main(page)).not().containsText("mine");

    page.getByLabel("Tenant").selectOption(dashboard.tenant());

    assertThat(Parts.main(page)).containsText("mine");
    String later = dashboard.tenant() + "-later";
    dashboard.admin().put("/v1/tenants/" + later, Map.of());
    page.evaluate("() => dispatchEvent(new Event('focus'))"); // the user returns to the tab
    assertThat(page.getByLabel("Tenant")).containsText(later);
    page.close();
    Page own = dashboard.open("/types");
    assertThat(own.getByLabel("Tenant")).hasCount(0);
    assertThat(Parts.link(own, "Cluster")).hasCount(0);
    assertThat(own).hasURL(Pattern.compile("#/types$"));
  }

  @Test
  void an_address_contains_its_tenant_and_opens_it() {
    dashboard.expect(403);
    dashboard.expect(404);
    dashboard.carillon().put("/v1/types/sent", Map.of());
    String tenant = dashboard.tenant();
    Page page = dashboard.open("/types?tenant=" + tenant, Look.LIGHT, dashboard.adminKey());
    assertThat(Parts.main(page)).containsText("sent");
    assertThat(page.getByLabel("Tenant")).hasValue(tenant);

    Parts.link(page, "Schedules").click();
    assertThat(page).hasURL(Pattern.compile("#/schedules\\?tenant=" + tenant));
    page.getByLabel("Tenant").selectOption("default");
    assertThat(page).hasURL(Pattern.compile("#/schedules\\?tenant=default"));
    page.goBack();
    assertThat(page.getByLabel("Tenant")).hasValue(tenant);
    Dashboard.goWithoutWaiting(page, "/types?tenant=nobody");
    assertThat(Parts.alert(page)).containsText("No access to tenant");
    Parts.link(page, "Types").click();
    assertThat(Parts.main(page)).containsText("sent");
    assertThat(Parts.link(page, "sent")).hasAttribute("href", "#/types/sent?tenant=" + tenant);
    page.close();

    Page own = dashboard.open("/types");
    Dashboard.goWithoutWaiting(own, "/types?tenant=default");
    assertThat(Parts.alert(own)).containsText("No access to tenant “default”");
    assertThat(Parts.main(own)).not().containsText("sent");
  }

  @Test
  void a_late_response_does_not_switch_back_to_an_earlier_tenant() {
    String tenant = dashboard.tenant();
    Page page = dashboard.open("/types?tenant=" + tenant, Look.LIGHT, dashboard.adminKey());
    List<Route> held = new ArrayList<>();
    List<Request> finished = new ArrayList<>();
    page.route("**/v1/me", held::add);
    page.onRequestFinished(finished::add);
    Dashboard.goWithoutWaiting(page, "/types?tenant=default");
    page.waitForCondition(() -> !held.isEmpty());

    Dashboard.go(page, "/types?tenant=" + tenant); // before the response arrives
    held.getFirst().resume();
    page.waitForCondition(() -> finished.contains(held.getFirst().request()));
    // A later request ends after the code that waits for the first response has run.
    page.evaluate(
        "() => fetch('/ui/icon.svg', {cache: 'no-store'}).then(response => response.text())");
    page.evaluate("() => new Promise(done => setTimeout(done))");

    Assertions.assertThat(stored(page)).contains(tenant).doesNotContain("default");
    assertThat(page.getByLabel("Tenant")).hasValue(tenant);
    assertThat(page).hasURL(Pattern.compile("tenant=" + tenant));
  }

  @Test
  void a_failed_start_is_retried() {
    dashboard.expect(503);
    Page page = dashboard.open("/types");
    page.route("**/v1/me", SignInTest::refuse, new Page.RouteOptions().setTimes(1));
    page.clock().install();
    // With the fake clock the load event did not fire in some runs.
    page.reload(new Page.ReloadOptions().setWaitUntil(WaitUntilState.COMMIT));

    assertThat(Parts.button(page, "Try again")).isVisible();
    page.clock().fastForward(5_000);
    assertThat(page).hasTitle("Types · Carillon"); // without a click
    assertThat(Parts.alert(page)).hasCount(0);
  }

  @Test
  void an_unavailable_list_of_tenants_does_not_block_pages() {
    dashboard.expect(503);
    Page page = dashboard.open("/types", Look.LIGHT, dashboard.adminKey());
    page.route("**/v1/tenants", SignInTest::refuse);
    page.reload();

    Dashboard.awaitLoaded(page);

    assertThat(page).hasTitle("Types · Carillon");
    assertThat(page.locator("header .tenant")).containsText("default");
  }

  private static void refuse(Route route) {
    route.fulfill(new Route.FulfillOptions().setStatus(503).setBody("{}"));
  }

  private static String stored(Page page) {
    return page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}])")
        .toString();
  }
}
