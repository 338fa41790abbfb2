package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.NewTask;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Types: create, edit, pause, delete. */
class TypesPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static void put(String name) {
    dashboard.carillon().put("/v1/types/" + name, Map.of("target", Map.of("discard", Map.of())));
  }

  private static JsonNode read(String name) {
    return dashboard.carillon().get("/v1/types/" + name);
  }

  @Test
  void a_type_is_created() {
    dashboard.expect(404);
    put("other");
    Page page = dashboard.open("/types");
    Parts.button(page, "New type").click();

    page.getByLabel("Name").first().fill("hook");
    page.getByLabel("Target", new Page.GetByLabelOptions().setExact(true)).selectOption("http");
    page.getByLabel("URL").first().fill("https://example.com/hook");
    page.getByLabel("Headers").first().fill("X-One: 1\nX-Two: a: b");
    page.getByLabel("Max attempts").fill("7");
    page.getByLabel("Attempt timeout").fill("45s");
    Axe.check(page, "new type");
    Dashboard.screenshot(page, "type-new", Look.LIGHT);
    Parts.button(page, "Create type").click();

    assertThat(Parts.heading(page)).containsText("hook");
    JsonNode http = read("hook").get("target").get("http");
    Assertions.assertThat(http.get("headers").get("X-Two").asString()).isEqualTo("a: b");
    Assertions.assertThat(read("hook").get("retry").get("maxAttempts").asInt()).isEqualTo(7);
    Assertions.assertThat(read("hook").get("timeout").asString()).isEqualTo("PT45S");
  }

  @Test
  void a_form_hides_secrets_and_keeps_them_unchanged() {
    try (Receiver receiver = new Receiver()) {
      Map<String, Object> http =
          Map.of(
              "url", receiver.url("/there?token=s3cret-1"),
              "headers", Map.of("X-Key", "s3cret-2", "X-Lame", "s3cret-3"),
              "secretHeaders", List.of("X-Lame"));
      dashboard
          .carillon()
          .put("/v1/types/secretive", Map.of("target", Map.of("http", http), "priority", 5));
      Page page = dashboard.open("/types/secretive?edit=1");
      Locator headers = page.getByLabel("Headers", new Page.GetByLabelOptions().setExact(true));
      assertThat(headers.first()).hasValue("X-Key: (hidden)\nX-Lame: (hidden)");
      assertThat(page.getByLabel("Secret headers").first()).hasValue("X-Lame");

      headers.first().fill("X-Key: (hidden)\nX-Lame: (hidden)\nX-New: 1");
      page.getByLabel("Priority").fill("7");
      Parts.button(page, "Save").click();
      assertThat(Parts.toasts(page)).containsText("Saved secretive");
      Assertions.assertThat(read("secretive").get("priority").asInt()).isEqualTo(7);

      Assertions.assertThat(page.content()).doesNotContain("s3cret");
      dashboard.carillon().enqueue(NewTask.of("secretive"));
      await().until(() -> !receiver.headers("/there").isEmpty());
      Assertions.assertThat(receiver.headers("/there"))
          .containsEntry("x-key", "s3cret-2")
          .containsEntry("x-lame", "s3cret-3")
          .containsEntry("x-new", "1");
    }
  }

  @Test
  void a_missing_type_is_not_requested_again() {
    dashboard.expect(404);
    Page page = dashboard.open("/types");
    List<String> requested = new ArrayList<>();
    page.onRequest(request -> requested.add(request.url()));
    page.clock().install();
    Dashboard.goWithoutWaiting(page, "/types/none");
    assertThat(Parts.alert(page)).isVisible();
    List<String> before = List.copyOf(requested);

    page.clock().fastForward(12_000);
    page.evaluate("() => fetch('/health/live')");

    Assertions.assertThat(before).anyMatch(url -> url.endsWith("/v1/types/none/stats"));
    Assertions.assertThat(requested.subList(before.size(), requested.size()))
        .noneMatch(url -> url.contains("/v1/types/none"));
  }

  @Test
  void an_error_is_shown_at_its_field() {
    dashboard.expect(422);
    dashboard.expect(400);
    put("wrong");
    Page page = dashboard.open("/types/wrong?edit=1");

    page.getByLabel("Attempt timeout").fill("eternity");
    Parts.button(page, "Save").click();

    assertThat(page.getByLabel("Attempt timeout")).hasAttribute("aria-invalid", "true");
    Axe.check(page, "an invalid field");
  }

  @Test
  void a_type_is_edited_and_a_stale_edit_is_rejected() {
    dashboard.expect(412);
    put("changed");
    Page page = dashboard.open("/types/changed?edit=1");
    page.getByLabel("Priority").fill("8");
    Parts.button(page, "Save").click();
    assertThat(Parts.toasts(page)).containsText("Saved changed");

    Dashboard.go(page, "/types/changed?edit=1");
    put("changed");
    page.getByLabel("Priority").fill("2");
    Parts.button(page, "Save").click();

    assertThat(Parts.alert(page)).isVisible();
    Assertions.assertThat(read("changed").get("priority").asInt()).isEqualTo(5);
  }

  @Test
  void a_type_can_be_paused_and_resumed() {
    put("stopped");
    Page page = dashboard.open("/types/stopped");

    Parts.button(page, "Pause").click();
    Parts.confirm(page, "Pause");
    assertThat(Parts.heading(page)).containsText("Paused");
    dashboard.carillon().enqueue(NewTask.of("stopped"));
    Parts.button(page, "Resume").click();
    Parts.confirm(page, "Resume");

    assertThat(Parts.heading(page)).not().containsText("Paused");
    Assertions.assertThat(read("stopped").get("paused").asBoolean()).isFalse();
  }

  @Test
  void a_type_is_deleted_by_typing_its_name() {
    put("deleted");
    Page page = dashboard.open("/types/deleted");

    Parts.button(page, "Delete").click();
    Parts.dialog(page).locator("input").last().fill("deleted");
    Parts.confirm(page, "Delete");

    assertThat(page).hasTitle("Types · Carillon");
    assertThat(Parts.rows(page, "deleted")).hasCount(0);
  }

  @Test
  void the_list_has_live_figures_and_a_filter() {
    dashboard.carillon().put("/v1/types/counted", Map.of("leaseTimeout", "1h"));
    put("silent");
    Page page = dashboard.open("/types");
    assertThat(Parts.rows(page, "counted")).containsText("Set per task, or pull worker");
    Locator running = Parts.rows(page, "counted").locator("[data-label='In flight']");
    assertThat(running).hasText("0");
    dashboard.carillon().enqueueAll(List.of(NewTask.of("counted"), NewTask.of("counted")));
    dashboard
        .carillon()
        .post(
            "/v1/work/claim",
            Map.of("types", List.of("counted"), "max", 2, "wait", "10s", "worker", "counting"));

    page.getByLabel("Filter").fill("count");

    assertThat(Parts.rows(page, "silent")).hasCount(0);
    assertThat(running).hasText("2");
  }

  @Test
  void a_pause_made_elsewhere_is_shown() {
    put("elsewhere");
    dashboard.carillon().enqueue(NewTask.of("elsewhere"));
    Page one = dashboard.open("/types");
    one.clock().install();
    Dashboard.go(one, "/types/elsewhere");
    Page list = dashboard.open("/types");
    assertThat(Parts.rows(list, "elsewhere")).not().containsText("Paused");

    dashboard.carillon().post("/v1/types/elsewhere/pause", Map.of());

    assertThat(Parts.rows(list, "elsewhere")).containsText("Paused");
    one.clock().fastForward(10_000);
    assertThat(Parts.heading(one)).containsText("Paused");
    assertThat(Parts.button(one, "Resume")).isVisible();
  }
}
