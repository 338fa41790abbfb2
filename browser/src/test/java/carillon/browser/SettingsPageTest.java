package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import java.util.Map;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Keys and tenants. */
class SettingsPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  @Test
  void a_created_key_is_shown_once_and_works() {
    Page page = dashboard.open("/settings");

    Parts.button(page, "New key").click();
    Locator dialog = Parts.dialog(page);
    dialog.getByLabel("Name").fill("Mailer <b>");
    dialog.getByLabel("Role").selectOption("producer");
    dialog.getByLabel("Restrict to types").fill("mail, letter");
    dialog.getByLabel("Expires").selectOption("30");
    Axe.check(page, "new key");
    Parts.confirm(page, "Create key");
    String key = dialog.locator("pre").innerText();
    Axe.check(page, "the key");
    page.keyboard().press("Escape");
    assertThat(dialog).containsText("It is not shown again");
    page.keyboard().press("Escape"); // browsers let the second Escape close a dialog
    assertThat(dialog).containsText(key);
    Parts.confirm(page, "I have saved it");

    assertThat(Parts.rows(page, "Mailer <b>")).containsText("mail, letter");
    assertThat(Parts.rows(page, "Mailer <b>")).containsText("in 29 d");
    Assertions.assertThat(page.content()).doesNotContain(key);
    Page own = dashboard.open("/settings?tab=about", Look.LIGHT, key);
    assertThat(Parts.main(own)).containsText("producer");
    own.close();
  }

  @Test
  void a_key_can_be_revoked() {
    dashboard.newKey("viewer", "To be revoked");
    Page page = dashboard.open("/settings");

    Parts.button(Parts.rows(page, "To be revoked"), "Revoke").click();
    Parts.confirm(page, "Revoke");

    assertThat(Parts.rows(page, "To be revoked")).containsText("Revoked");
    assertThat(Parts.button(Parts.rows(page, "To be revoked"), "Revoke")).hasCount(0);
  }

  @Test
  void a_rejected_form_shows_the_error_in_its_dialog() {
    dashboard.expect(422);
    dashboard.expect(400);
    Page page = dashboard.open("/settings");
    Parts.button(page, "New key").click();
    Parts.dialog(page).getByLabel("Name").fill("Wrong");
    Parts.dialog(page).getByLabel("Role").selectOption("owner");
    Parts.dialog(page).getByLabel("Restrict to types").fill("mail");
    Parts.confirm(page, "Create key");

    Assertions.assertThat(Parts.alert(page).innerText().split("/types", -1))
        .hasSize(2); // shown once
    page.keyboard().press("Escape");
    assertThat(Parts.dialog(page)).hasCount(0);
  }

  @Test
  void an_admin_creates_and_edits_tenants() {
    dashboard.expect(404); // the page checks whether the tenant exists
    String name = dashboard.tenant() + "-new";
    Page page = dashboard.open("/settings?tab=tenants", Look.LIGHT, dashboard.adminKey());
    Parts.button(page, "New tenant").click();
    Parts.dialog(page).getByLabel("Name").fill(name);
    Axe.check(page, "new tenant");
    Parts.confirm(page, "Create tenant");
    assertThat(Parts.rows(page, name)).containsText("Active");

    Parts.button(Parts.rows(page, name), "Edit").click();
    Parts.dialog(page).getByLabel("Paused").check();
    Parts.dialog(page).getByLabel("Keys").fill("3");
    Parts.confirm(page, "Save");

    assertThat(Parts.rows(page, name)).containsText("Paused");
    Assertions.assertThat(dashboard.admin().get("/v1/tenants/" + name).get("maxKeys").asInt())
        .isEqualTo(3);
    dashboard.admin().put("/v1/tenants/" + name, Map.of());
  }

  @Test
  void a_tenant_changed_by_someone_else_is_not_overwritten() {
    String name = dashboard.tenant() + "-shared";
    limitKeys(name, 2);
    Page page = dashboard.open("/settings?tab=tenants", Look.LIGHT, dashboard.adminKey());
    assertThat(Parts.rows(page, name)).isVisible();

    limitKeys(name, 4);
    Parts.button(Parts.rows(page, name), "Edit").click();
    assertThat(Parts.dialog(page).getByLabel("Keys")).hasValue("4");
    limitKeys(name, 5);
    Parts.dialog(page).getByLabel("Strict").check();
    Parts.confirm(page, "Save");

    assertThat(Parts.alert(page)).containsText("Changed by someone else");
    JsonNode stored = dashboard.admin().get("/v1/tenants/" + name);
    Assertions.assertThat(stored.get("maxKeys").asInt()).isEqualTo(5);
    Assertions.assertThat(stored.get("strict").asBoolean()).isFalse();
  }

  @Test
  void a_new_tenant_does_not_replace_an_existing_one() {
    String name = dashboard.tenant() + "-there";
    limitKeys(name, 7);
    Page page = dashboard.open("/settings?tab=tenants", Look.LIGHT, dashboard.adminKey());

    Parts.button(page, "New tenant").click();
    Parts.dialog(page).getByLabel("Name").fill(name);
    Parts.confirm(page, "Create tenant");

    assertThat(Parts.alert(page)).containsText("A tenant with this name already exists");
    Assertions.assertThat(dashboard.admin().get("/v1/tenants/" + name).get("maxKeys").asInt())
        .isEqualTo(7);
  }

  private static void limitKeys(String tenant, int max) {
    dashboard.admin().put("/v1/tenants/" + tenant, Map.of("maxKeys", max));
  }

  @Test
  void limits_and_the_version_are_visible_to_every_key() {
    Page page = dashboard.open("/settings", Look.LIGHT, dashboard.newKey("viewer", "Viewer"));
    assertThat(page.getByText("Keys", new Page.GetByTextOptions().setExact(true))).hasCount(0);
    assertThat(Parts.main(page)).containsText("Payload");

    page.getByText("About").click();

    assertThat(Parts.main(page)).containsText("viewer");
    assertThat(Parts.main(page)).containsText("0.1");
  }
}
