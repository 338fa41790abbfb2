package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.NewTask;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Dead letters: groups, search, redrive, purge. */
class DeadLettersPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static final Receiver receiver = new Receiver();

  @AfterAll
  static void close() {
    receiver.close();
  }

  /** Creates dead letters of one type and error. */
  private static void createDeadLetters(String type, int count) {
    receiver.respond("/" + type, 404, "no " + type);
    dashboard.carillon().put("/v1/types/" + type, Map.of("target", receiver.target("/" + type)));
    dashboard
        .carillon()
        .enqueueAll(
            IntStream.range(0, count).mapToObj(i -> NewTask.of(type).key(type + "-" + i)).toList());
    await("dead letters").until(() -> count(type, "DEAD") == count);
  }

  private static int count(String type, String status) {
    return dashboard.count("type=" + type + "&status=" + status);
  }

  private static void pause(String type) {
    dashboard.carillon().post("/v1/types/" + type + "/pause", Map.of());
  }

  @Test
  void a_group_shows_its_count_and_links_to_its_dead_letters() {
    createDeadLetters("grouped", 3);
    Page page = dashboard.open("/dead-letters?type=grouped");
    assertThat(Parts.rows(page, "grouped")).hasCount(1);
    assertThat(Parts.rows(page, "grouped")).containsText("3");

    Parts.rows(page, "grouped").getByRole(AriaRole.LINK).first().click();

    assertThat(page.locator("section.why")).containsText("3 dead letters");
    assertThat(Parts.rows(page, "grouped-")).hasCount(3);
    Axe.check(page, "letters of a group");
    Dashboard.screenshot(page, "dead-letters-group", Look.LIGHT);
    Parts.rows(page, "grouped-1").getByRole(AriaRole.LINK).first().click();
    assertThat(Parts.heading(page)).containsText("grouped-1");
  }

  @Test
  void redriving_a_group_can_be_undone() {
    createDeadLetters("undone", 4);
    pause("undone");
    Page page = dashboard.open("/dead-letters?type=undone");

    Parts.button(Parts.rows(page, "undone"), "Redrive").click();
    assertThat(Parts.dialog(page)).containsText("4 dead letters");
    Axe.check(page, "redrive");
    Parts.confirm(page, "Redrive");
    assertThat(Parts.toasts(page)).containsText("4 tasks redriven");
    Assertions.assertThat(count("undone", "PENDING")).isEqualTo(4);
    page.getByText("Redrives", exactly()).click();
    assertThat(page.locator("c-redrives tbody tr").first()).containsText("HTTP 404 from target");
    Parts.button(page.locator("c-redrives tbody tr").first(), "Undo").click();
    Parts.confirm(page, "Undo redrive");

    assertThat(page.locator("c-redrives tbody tr").first()).containsText("Undone");
    Assertions.assertThat(count("undone", "DEAD")).isEqualTo(4);
  }

  @Test
  void a_rate_limited_redrive_shows_its_progress_and_can_be_stopped() {
    createDeadLetters("slow", 30);
    pause("slow");
    Page page = dashboard.open("/dead-letters?type=slow");

    Parts.button(Parts.rows(page, "slow"), "Redrive").click();
    Parts.dialog(page).getByLabel("Rate limit (tasks/s)").fill("2");
    Parts.confirm(page, "Redrive");
    Locator first = page.locator("c-redrives tbody tr").first();
    assertThat(first).containsText("Running");
    assertThat(first).containsText("2/s");
    Dashboard.screenshot(page, "redrive", Look.LIGHT);
    Parts.button(first, "Stop").click();

    assertThat(first).containsText("Stopped");
    Assertions.assertThat(count("slow", "DEAD")).isPositive();
  }

  @Test
  void selected_dead_letters_can_be_redriven() {
    createDeadLetters("picked", 3);
    pause("picked");
    Page page = dashboard.open("/dead-letters?view=letters&type=picked");

    Parts.rows(page, "picked-0").getByRole(AriaRole.CHECKBOX).check();
    Parts.rows(page, "picked-2").getByRole(AriaRole.CHECKBOX).check();
    Parts.button(page.locator(".bulk"), "Redrive").click();
    Parts.confirm(page, "Redrive");

    assertThat(Parts.rows(page, "picked-")).hasCount(1);
    Dashboard.go(page, "/dead-letters?view=redrives");
    assertThat(page.locator("c-redrives tbody")).containsText("2 selected by ID");
  }

  @Test
  void a_dead_letter_can_be_redriven_from_its_row() {
    createDeadLetters("single", 2);
    pause("single");
    Page page = dashboard.open("/dead-letters?view=letters&type=single");

    Parts.button(Parts.rows(page, "single-1"), "Redrive").click();

    assertThat(Parts.toasts(page)).containsText("Redriven");
    assertThat(Parts.rows(page, "single-")).hasCount(1);
    Assertions.assertThat(count("single", "PENDING")).isEqualTo(1);
  }

  @Test
  void a_dead_letter_can_be_edited_and_redriven() {
    createDeadLetters("edited", 1);
    Page page = dashboard.open("/dead-letters?view=letters&type=edited");

    Parts.button(page, "Edit and redrive").click();
    Parts.dialog(page).getByText("Target and retries").click();
    Parts.dialog(page)
        .getByLabel("Target", new Locator.GetByLabelOptions().setExact(true))
        .fill("{\"discard\": {}}");
    Parts.confirm(page, "Save and redrive");

    assertThat(page.locator("main .empty")).isVisible();
    await("completion").until(() -> count("edited", "COMPLETED") == 1);
  }

  @Test
  void a_purge_is_permanent_and_must_be_confirmed_by_typing() {
    createDeadLetters("purged", 2);
    Page page = dashboard.open("/dead-letters?type=purged");

    Parts.button(Parts.rows(page, "purged"), "Purge").click();
    assertThat(Parts.button(Parts.dialog(page), "Delete 2 dead letters")).isDisabled();
    Parts.dialog(page).locator("input").last().fill("purge");
    Parts.confirm(page, "Delete 2 dead letters");

    assertThat(Parts.toasts(page)).containsText("2 dead letters deleted");
    Assertions.assertThat(count("purged", "DEAD")).isZero();
  }

  @Test
  void a_purge_can_be_stopped_and_reports_its_progress() {
    createDeadLetters("stopped", 2);
    Page page = dashboard.open("/dead-letters?type=stopped");
    page.route(
        "**/v1/dead-letters/purge",
        route -> {
          boolean isDryRun = route.request().postData().contains("dryRun");
          String body = isDryRun ? "{\"matched\":2}" : "{\"purged\":1,\"more\":true}";
          route.fulfill(new Route.FulfillOptions().setBody(body));
        });

    Parts.button(Parts.rows(page, "stopped"), "Purge").click();
    Parts.dialog(page).locator("input").last().fill("purge");
    Parts.confirm(page, "Delete 2 dead letters");
    Parts.confirm(page, "Stop");

    assertThat(Parts.toasts(page)).containsText("stopped early");
    assertThat(Parts.dialog(page)).hasCount(0);
  }

  @Test
  void a_key_limited_to_types_sees_each_of_them() {
    createDeadLetters("mine", 1);
    createDeadLetters("ours", 2);
    String key = dashboard.newKey("producer", "Of two", "mine", "ours");

    Page page = dashboard.open("/dead-letters", Look.LIGHT, key);
    assertThat(Parts.rows(page, "mine")).hasCount(1);
    page.getByLabel("Type", new Page.GetByLabelOptions().setExact(true)).getByText("ours").click();
    assertThat(Parts.rows(page, "ours")).containsText("2");
    Axe.check(page, "dead letters of some types");
    Dashboard.go(page, "/overview");

    assertThat(Parts.main(page)).containsText("mine is failing");
    assertThat(Parts.main(page)).containsText("ours is failing");
  }

  @Test
  void dead_letters_can_be_searched_by_error() {
    createDeadLetters("searched", 2);
    Page page = dashboard.open("/dead-letters?view=letters");

    page.getByLabel("Error or response contains").fill("nothing like this");
    Parts.button(page, "Filter").click();
    assertThat(page.locator("main .empty")).containsText("No dead letters match");
    page.getByLabel("Error or response contains").fill("404");
    page.getByLabel("Type").fill("searched");
    Parts.button(page, "Filter").click();
    assertThat(Parts.rows(page, "searched-")).hasCount(2);
    page.getByLabel("Error or response contains")
        .fill("No Searched"); // text of the target's response
    Parts.button(page, "Filter").click();

    assertThat(page).hasURL(Pattern.compile("error=No\\+Searched"));
    assertThat(Parts.rows(page, "searched-")).hasCount(2);
  }

  private static Page.GetByTextOptions exactly() {
    return new Page.GetByTextOptions().setExact(true);
  }
}
