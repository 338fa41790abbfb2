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

/** What tasks died of, and sending them again. */
class DeadLettersPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static final Receiver receiver = new Receiver();

  @AfterAll
  static void close() {
    receiver.close();
  }

  /** Dead letters of one type and error. */
  private static void kill(String type, int count) {
    receiver.answers("/" + type, 404, "no " + type);
    dashboard.carillon().put("/v1/types/" + type, Map.of("target", receiver.target("/" + type)));
    dashboard
        .carillon()
        .enqueueAll(
            IntStream.range(0, count).mapToObj(i -> NewTask.of(type).key(type + "-" + i)).toList());
    await("deaths").until(() -> count(type, "DEAD") == count);
  }

  private static int count(String type, String status) {
    return dashboard
        .carillon()
        .get("/v1/tasks?limit=1000&type=" + type + "&status=" + status)
        .get("items")
        .size();
  }

  private static void pause(String type) {
    dashboard.carillon().post("/v1/types/" + type + "/pause", Map.of());
  }

  @Test
  void groups_are_counted_and_lead_to_their_letters() {
    kill("grouped", 3);
    Page page = dashboard.open("/dead-letters?type=grouped");
    assertThat(Parts.rows(page, "grouped")).hasCount(1);
    assertThat(Parts.rows(page, "grouped")).containsText("3");

    Parts.rows(page, "grouped").getByRole(AriaRole.LINK).first().click();

    assertThat(page.locator("section.why")).containsText("3 dead letters");
    assertThat(Parts.rows(page, "grouped-")).hasCount(3);
    Axe.check(page, "letters of a group");
    Dashboard.picture(page, "dead-letters-group", Look.LIGHT);
    Parts.rows(page, "grouped-1").getByRole(AriaRole.LINK).first().click();
    assertThat(Parts.heading(page)).containsText("grouped-1");
  }

  @Test
  void a_group_is_redriven_and_that_is_undone() {
    kill("undone", 4);
    pause("undone");
    Page page = dashboard.open("/dead-letters?type=undone");

    Parts.button(Parts.rows(page, "undone"), "Redrive").click();
    assertThat(Parts.dialog(page)).containsText("4 dead letters");
    Axe.check(page, "redrive");
    Parts.confirm(page, "Redrive");
    assertThat(Parts.toasts(page)).containsText("4 tasks redriven");
    Assertions.assertThat(count("undone", "PENDING")).isEqualTo(4);
    page.getByText("Redrives", exactly()).click();
    assertThat(page.locator("c-redrives tbody tr").first())
        .containsText("the target responded with 404");
    Parts.button(page.locator("c-redrives tbody tr").first(), "Undo").click();
    Parts.confirm(page, "Undo it");

    assertThat(page.locator("c-redrives tbody tr").first()).containsText("Undone");
    Assertions.assertThat(count("undone", "DEAD")).isEqualTo(4);
  }

  @Test
  void a_redrive_with_a_rate_shows_how_far_it_is_and_is_stopped() {
    kill("slow", 30);
    pause("slow");
    Page page = dashboard.open("/dead-letters?type=slow");

    Parts.button(Parts.rows(page, "slow"), "Redrive").click();
    Parts.dialog(page).getByLabel("At most so many a second").fill("2");
    Parts.confirm(page, "Redrive");
    Locator first = page.locator("c-redrives tbody tr").first();
    assertThat(first).containsText("Under way");
    assertThat(first).containsText("2 a second");
    Dashboard.picture(page, "redrive", Look.LIGHT);
    Parts.button(first, "Stop").click();

    assertThat(first).containsText("Stopped");
    Assertions.assertThat(count("slow", "DEAD")).isPositive();
  }

  @Test
  void those_that_are_picked_are_redriven() {
    kill("picked", 3);
    pause("picked");
    Page page = dashboard.open("/dead-letters?view=letters&type=picked");

    Parts.rows(page, "picked-0").getByRole(AriaRole.CHECKBOX).check();
    Parts.rows(page, "picked-2").getByRole(AriaRole.CHECKBOX).check();
    Parts.button(page, "Redrive").click();
    Parts.confirm(page, "Redrive");

    assertThat(Parts.rows(page, "picked-")).hasCount(1);
    Dashboard.go(page, "/dead-letters?view=redrives");
    assertThat(page.locator("c-redrives tbody")).containsText("2 letters by id");
  }

  @Test
  void one_is_edited_and_redriven() {
    kill("edited", 1);
    Page page = dashboard.open("/dead-letters?view=letters&type=edited");

    Parts.button(page, "Edit and redrive").click();
    Parts.dialog(page).getByText("Target and retries").click();
    Parts.dialog(page)
        .getByLabel("Target", new Locator.GetByLabelOptions().setExact(true))
        .fill("{\"discard\": {}}");
    Parts.confirm(page, "Save and redrive");

    assertThat(page.locator("main .empty")).isVisible();
    await("the end").until(() -> count("edited", "COMPLETED") == 1);
  }

  @Test
  void a_purge_wants_to_be_typed_and_is_for_good() {
    kill("purged", 2);
    Page page = dashboard.open("/dead-letters?type=purged");

    Parts.button(Parts.rows(page, "purged"), "Purge").click();
    assertThat(Parts.button(Parts.dialog(page), "Remove them")).isDisabled();
    Parts.dialog(page).locator("input").last().fill("purge");
    Parts.confirm(page, "Remove them");

    assertThat(Parts.toasts(page)).containsText("2 dead letters removed");
    Assertions.assertThat(count("purged", "DEAD")).isZero();
  }

  @Test
  void a_purge_can_be_stopped_and_says_how_far_it_came() {
    kill("stopped", 2);
    Page page = dashboard.open("/dead-letters?type=stopped");
    page.route(
        "**/v1/dead-letters/purge",
        route -> {
          boolean isAsked = route.request().postData().contains("dryRun");
          String body = isAsked ? "{\"matched\":2}" : "{\"purged\":1,\"more\":true}";
          route.fulfill(new Route.FulfillOptions().setBody(body));
        });

    Parts.button(Parts.rows(page, "stopped"), "Purge").click();
    Parts.dialog(page).locator("input").last().fill("purge");
    Parts.confirm(page, "Remove them");
    Parts.confirm(page, "Stop");

    assertThat(Parts.toasts(page)).containsText("stopped before the others");
    assertThat(Parts.dialog(page)).hasCount(0);
  }

  @Test
  void a_key_for_some_types_sees_each_of_them() {
    kill("mine", 1);
    kill("ours", 2);
    String key = dashboard.newKey("producer", "Of two", "mine", "ours");

    Page page = dashboard.open("/dead-letters", Look.LIGHT, key);
    assertThat(Parts.rows(page, "mine")).hasCount(1);
    page.getByLabel("Type", new Page.GetByLabelOptions().setExact(true)).getByText("ours").click();
    assertThat(Parts.rows(page, "ours")).containsText("2");
    Axe.check(page, "dead letters of some types");
    Dashboard.go(page, "/overview");

    assertThat(Parts.main(page)).containsText("mine dies");
    assertThat(Parts.main(page)).containsText("ours dies");
  }

  @Test
  void letters_are_searched_by_their_error() {
    kill("searched", 2);
    Page page = dashboard.open("/dead-letters?view=letters");

    page.getByLabel("Error or answer contains").fill("nothing like this");
    Parts.button(page, "Filter").click();
    assertThat(page.locator("main .empty")).containsText("Nothing matches");
    page.getByLabel("Error or answer contains").fill("404");
    page.getByLabel("Type").fill("searched");
    Parts.button(page, "Filter").click();
    assertThat(Parts.rows(page, "searched-")).hasCount(2);
    page.getByLabel("Error or answer contains").fill("No Searched"); // what the target said with it
    Parts.button(page, "Filter").click();

    assertThat(page).hasURL(Pattern.compile("error=No\\+Searched"));
    assertThat(Parts.rows(page, "searched-")).hasCount(2);
  }

  private static Page.GetByTextOptions exactly() {
    return new Page.GetByTextOptions().setExact(true);
  }
}
