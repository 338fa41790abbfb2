package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.NewTask;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** The page of a task: its history and its actions. */
class TaskPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static final Receiver receiver = new Receiver();

  @BeforeAll
  static void fill() {
    configureFailingType("broken");
    dashboard.carillon().put("/v1/types/kept", Map.of("target", Map.of("discard", Map.of())));
  }

  private static void configureFailingType(String type) {
    receiver.respond("/" + type, 500, "{\"error\":\"no tax rate\"}");
    dashboard
        .carillon()
        .put(
            "/v1/types/" + type,
            Map.of(
                "target",
                receiver.target("/" + type),
                "retry",
                Map.of("maxAttempts", 3, "backoff", "fixed", "base", "100ms", "jitter", "none")));
  }

  @AfterAll
  static void close() {
    receiver.close();
  }

  private static UUID create(NewTask task) {
    return dashboard.carillon().enqueue(task).id();
  }

  private static UUID createScheduledTask() {
    return create(
        NewTask.of("kept")
            .key("k")
            .delay(Duration.ofHours(5))
            .payload(Map.of("n", 1))
            .metadata("region", "north"));
  }

  private static UUID createDeadTask() {
    return createDeadTask("broken");
  }

  private static UUID createDeadTask(String type) {
    UUID id = create(NewTask.of(type).key("of " + UUID.randomUUID()));
    await("a dead task").until(() -> read(id).get("status").asString().equals("DEAD"));
    return id;
  }

  private static JsonNode read(UUID id) {
    return dashboard.carillon().get("/v1/tasks/" + id);
  }

  @Test
  void a_dead_task_shows_its_error_and_every_attempt() {
    Page page = dashboard.open("/tasks/" + createDeadTask());

    assertThat(Parts.heading(page)).containsText("Dead");
    assertThat(page.locator("section.why")).containsText("HTTP 500 from target");
    assertThat(page.locator("section.why")).containsText("no tax rate");
    assertThat(page.locator("section[aria-label=Details]")).containsText("3 of 3 every 100ms");
    assertThat(page.locator("ol.history > li", containing("Attempt"))).hasCount(3);
    assertThat(page.locator("ol.history > li").last()).containsText("Created");
    page.locator("ol.history summary").first().click();
    assertThat(page.locator("ol.history > li").first()).containsText(receiver.url("/broken"));
  }

  @Test
  void a_redriven_task_shows_its_completion_without_a_reload() {
    configureFailingType("fixed");
    UUID id = createDeadTask("fixed");
    Page page = dashboard.open("/tasks/" + id);
    receiver.respond("/fixed", 200, "{}");

    Parts.button(page, "Redrive").click();

    assertThat(Parts.heading(page)).containsText("Completed");
    assertThat(Parts.toasts(page)).containsText("Redriven");
    assertThat(page.locator("ol.history")).containsText("Redriven");
  }

  @Test
  void a_dead_task_can_be_edited_and_redriven() {
    UUID id = createDeadTask();
    Page page = dashboard.open("/tasks/" + id);

    Parts.button(page, "Edit and redrive").click();
    Parts.dialog(page).getByLabel("Payload").fill("{\"big\": 12345678901234567890}");
    Parts.dialog(page).getByText("Target and retries").click();
    Parts.dialog(page).getByLabel("Target", exactly()).fill("{\"discard\": {}}");
    Axe.check(page, "edit");
    Parts.confirm(page, "Save and redrive");

    assertThat(Parts.heading(page)).containsText("Completed");
    assertThat(Parts.main(page)).containsText("12345678901234567890");
  }

  @Test
  void an_edit_saved_before_a_failed_redrive_is_not_saved_again() {
    dashboard.expect(503);
    UUID id = createDeadTask();
    Page page = dashboard.open("/tasks/" + id);
    page.route(
        "**/redrive",
        route -> route.fulfill(new Route.FulfillOptions().setStatus(503)),
        new Page.RouteOptions().setTimes(1));
    List<String> saves = new ArrayList<>();
    page.onRequest(
        request -> {
          if (request.method().equals("PATCH")) {
            saves.add(request.url());
          }
        });

    Parts.button(page, "Edit and redrive").click();
    Parts.dialog(page).getByText("Target and retries").click();
    Parts.dialog(page).getByLabel("Target", exactly()).fill("{\"discard\":{}}");
    Parts.confirm(page, "Save and redrive");
    assertThat(Parts.alert(page)).isVisible();
    Parts.confirm(page, "Save and redrive");

    assertThat(Parts.heading(page)).containsText("Completed");
    Assertions.assertThat(saves).hasSize(1);
  }

  @Test
  void emptying_a_required_field_is_an_error() {
    Map<String, Object> target = Map.of("discard", Map.of());
    UUID id = create(NewTask.of("kept").delay(Duration.ofHours(5)).target(target));
    Page page = dashboard.open("/tasks/" + id);

    Parts.button(page, "Edit").click();
    Parts.dialog(page).getByLabel("Target", exactly()).fill("");
    Parts.dialog(page).getByLabel("Due at").fill("");
    Parts.confirm(page, "Save");

    assertThat(Parts.alert(page)).containsText("/target");
    assertThat(Parts.alert(page)).containsText("/dueAt");
  }

  @Test
  void secrets_of_a_target_are_hidden() {
    Map<String, Object> http =
        Map.of(
            "url",
            receiver.url("/there?token=s3cret&page=1"),
            "headers",
            Map.of("Authorization", "Bearer s3cret", "X-Region", "north"));
    UUID id = create(NewTask.of("kept").delay(Duration.ofHours(5)).target(Map.of("http", http)));
    Page page = dashboard.open("/tasks/" + id);
    Locator facts = page.locator("section.card dl.facts").first();

    assertThat(facts).containsText("/there?token=(hidden)&page=1");
    assertThat(facts).containsText("Authorization: (hidden)");
    assertThat(facts).containsText("X-Region: north");
    assertThat(facts).not().containsText("s3cret");
  }

  @Test
  void a_pending_task_can_be_edited() {
    UUID id = createScheduledTask();
    Page page = dashboard.open("/tasks/" + id);

    Parts.button(page, "Edit").click();
    Locator dialog = Parts.dialog(page);
    dialog.getByLabel("Priority").fill("9");
    dialog.getByLabel("Key").fill("another <b>key</b>");
    dialog.getByLabel("Payload").fill("{\"n\": 2}");
    Parts.confirm(page, "Save");

    assertThat(Parts.toasts(page)).containsText("Saved");
    assertThat(Parts.heading(page)).containsText("another <b>key</b>");
    assertThat(page.locator("ol.history > li").first())
        .containsText("Edited: priority, payload, key by");
    Assertions.assertThat(read(id).get("priority").asInt()).isEqualTo(9);
    Assertions.assertThat(read(id).get("payload").toString()).isEqualTo("{\"n\":2}");
  }

  @Test
  void a_stale_edit_of_a_task_is_rejected() {
    dashboard.expect(412);
    UUID id = createScheduledTask();
    Page page = dashboard.open("/tasks/" + id);
    Parts.button(page, "Edit").click();
    dashboard.carillon().patch("/v1/tasks/" + id, Map.of("priority", 1));

    Parts.dialog(page).getByLabel("Priority").fill("9");
    Parts.confirm(page, "Save");

    assertThat(Parts.dialog(page).getByRole(com.microsoft.playwright.options.AriaRole.ALERT))
        .containsText("Changed by someone else");
    Assertions.assertThat(read(id).get("priority").asInt()).isEqualTo(1);
    Parts.confirm(page, "Cancel");
    Dashboard.awaitLoaded(page);
    Parts.button(page, "Edit").click();
    assertThat(Parts.dialog(page).getByLabel("Priority")).hasValue("1");
    Parts.dialog(page).getByLabel("Priority").fill("9");
    Parts.confirm(page, "Save");
    assertThat(Parts.toasts(page)).containsText("Saved: priority");
  }

  @Test
  void invalid_json_is_not_sent() {
    Page page = dashboard.open("/tasks/" + createScheduledTask());
    Parts.button(page, "Edit").click();

    Parts.dialog(page).getByLabel("Payload").fill("{\"n\": ");
    Parts.confirm(page, "Save");

    assertThat(Parts.alert(page)).containsText("Invalid JSON");
  }

  @Test
  void a_scheduled_task_can_be_run_now() {
    Page page = dashboard.open("/tasks/" + createScheduledTask());
    assertThat(Parts.main(page)).containsText("Scheduled: starts in");

    Parts.button(page, "Run now").click();

    assertThat(Parts.heading(page)).containsText("Completed");
  }

  @Test
  void a_pending_task_shows_why_it_has_not_started() {
    Map<String, Object> discard = Map.of("discard", Map.of());
    dashboard.carillon().put("/v1/types/held", Map.of("target", discard, "paused", true));
    Page page = dashboard.open("/tasks/" + create(NewTask.of("held")));
    assertThat(Parts.heading(page)).containsText("Ready");
    assertThat(Parts.main(page)).containsText("Blocked: type held is paused.");

    dashboard.carillon().put("/v1/types/pulled", Map.of("leaseTimeout", "1h"));
    Dashboard.go(page, "/tasks/" + create(NewTask.of("pulled")));
    assertThat(Parts.heading(page)).containsText("Ready");
    assertThat(Parts.main(page)).containsText("waiting for a worker that polls this type");

    receiver.respond("/later", 500, "{}");
    dashboard
        .carillon()
        .put(
            "/v1/types/later",
            Map.of(
                "target",
                receiver.target("/later"),
                "retry",
                Map.of("maxAttempts", 3, "backoff", "fixed", "base", "1h", "jitter", "none")));
    Dashboard.go(page, "/tasks/" + create(NewTask.of("later")));
    assertThat(Parts.heading(page)).containsText("Retrying");
    assertThat(Parts.main(page)).containsText("Retrying: attempt 2 of 3 starts in");
    assertThat(page.locator("section.why")).containsText("The next attempt is automatic.");
  }

  @Test
  void a_cancel_must_be_confirmed_and_is_final() {
    UUID id = createScheduledTask();
    Page page = dashboard.open("/tasks/" + id);

    Parts.button(page, "Cancel").click();
    assertThat(Parts.button(Parts.dialog(page), "Back")).isFocused();
    Locator irreversible = Parts.button(Parts.dialog(page), "Cancel task");
    irreversible.focus();
    assertThat(irreversible).hasCSS("background-color", "rgb(179, 38, 30)");
    Parts.confirm(page, "Back");
    Assertions.assertThat(read(id).get("status").asString()).isEqualTo("PENDING");
    Parts.button(page, "Cancel").click();
    Parts.confirm(page, "Cancel task");

    assertThat(Parts.heading(page)).containsText("Cancelled");
    assertThat(Parts.button(page, "Run now")).hasCount(0);
  }

  @Test
  void changes_made_elsewhere_are_shown() {
    UUID id = createScheduledTask();
    Page page = dashboard.open("/tasks/" + id);
    assertThat(Parts.heading(page)).containsText("Scheduled");

    dashboard.carillon().patch("/v1/tasks/" + id, Map.of("key", "renamed"));
    assertThat(Parts.heading(page)).containsText("renamed");
    dashboard.carillon().cancel(id);

    assertThat(Parts.heading(page)).containsText("Cancelled");
  }

  @Test
  void api_commands_can_be_copied_and_do_not_contain_the_key() {
    Page page = dashboard.open("/tasks/" + createScheduledTask());
    page.getByText("API commands (curl)").click();

    Locator commands = page.locator("details", containing("API commands (curl)"));
    assertThat(commands).containsText("$CARILLON_KEY");
    assertThat(commands).containsText("\"region\": \"north\"");
    Assertions.assertThat(page.content()).doesNotContain(dashboard.ownerKey());
    commands.getByText("Copy").last().click();
    assertThat(commands.getByText("Copied")).isVisible();
    Assertions.assertThat((String) page.evaluate("() => navigator.clipboard.readText()"))
        .startsWith("curl -sS -X POST")
        .endsWith("/v1/tasks'");
  }

  @Test
  void times_are_in_the_browsers_zone_with_utc_on_hover() {
    Instant due = Instant.now().plus(Duration.ofDays(40)).truncatedTo(ChronoUnit.SECONDS);
    UUID id = create(NewTask.of("kept").dueAt(due));
    Page page = dashboard.open("/tasks/" + id);

    LocalDateTime local = due.atZone(ZoneId.of(Look.ZONE)).toLocalDateTime();
    Locator time = page.locator("dd > time[datetime^='" + due.toString().replace("Z", "") + "']");
    assertThat(time.first()).containsText(Pattern.compile(local.toString().substring(11)));
    assertThat(time.first()).hasAttribute("title", Pattern.compile(".*UTC.*"));
    assertThat(page.locator("body > c-app > footer")).containsText("Times in " + Look.ZONE);
  }

  @Test
  void a_viewer_sees_no_actions() {
    Page page =
        dashboard.open(
            "/tasks/" + createScheduledTask(), Look.LIGHT, dashboard.newKey("viewer", "Viewer"));

    assertThat(Parts.heading(page)).containsText("Scheduled");
    for (String name : new String[] {"Run now", "Edit", "Cancel"}) {
      assertThat(Parts.button(page, name)).hasCount(0);
    }
  }

  private static Page.LocatorOptions containing(String text) {
    return new Page.LocatorOptions().setHasText(text);
  }

  private static Locator.GetByLabelOptions exactly() {
    return new Locator.GetByLabelOptions().setExact(true);
  }
}
