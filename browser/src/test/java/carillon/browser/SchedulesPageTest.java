package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.regex.Pattern;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Schedules: create, preview, edit, pause, trigger, backfill, delete. */
class SchedulesPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static void put(String name, String cron) {
    dashboard
        .carillon()
        .put(
            "/v1/schedules/" + name,
            Map.of(
                "cron",
                cron,
                "timezone",
                "Europe/Berlin",
                "type",
                "ticks",
                "target",
                Map.of("discard", Map.of())));
  }

  private static JsonNode read(String name) {
    return dashboard.carillon().get("/v1/schedules/" + name);
  }

  @Test
  void a_schedule_is_previewed_while_typing_and_then_created() {
    dashboard.expect(404);
    dashboard.expect(422);
    Page page = dashboard.open("/schedules");
    put("other", "0 1 * * *");
    Dashboard.go(page, "/schedules?new=1");
    Locator preview = page.locator(".preview");
    assertThat(Parts.main(page)).containsText("No target on the type: waits for pull workers");

    page.getByLabel("Name").fill("standup");
    page.getByLabel("Cron expression").fill("61 * * * *");
    assertThat(preview).containsText("Invalid schedule");
    page.getByLabel("Cron expression").fill("0 0 31 2 *");
    assertThat(preview).containsText("Invalid schedule: none of its months");
    page.getByLabel("Cron expression").fill("30 2 * * *");
    page.getByLabel("Time zone").fill("Europe/Berlin");
    assertThat(preview).containsText("02:30");
    assertThat(preview).containsText("Europe/Berlin");
    Axe.check(page, "new schedule");
    Dashboard.screenshot(page, "schedule-new", Look.LIGHT);
    page.getByLabel("Type (required)").fill("standup");
    Parts.button(page, "Create schedule").click();

    assertThat(Parts.heading(page)).containsText("standup");
    Assertions.assertThat(read("standup").get("timezone").asString()).isEqualTo("Europe/Berlin");
  }

  @Test
  void a_schedule_is_edited_and_a_stale_edit_is_rejected() {
    dashboard.expect(412);
    put("changed", "0 5 * * *");
    Page page = dashboard.open("/schedules/changed?edit=1");
    page.getByLabel("Cron expression").fill("0 6 * * *");
    Parts.button(page, "Save").click();
    assertThat(Parts.main(page)).containsText("06:00");

    Dashboard.go(page, "/schedules/changed?edit=1");
    put("changed", "0 7 * * *");
    page.getByLabel("Cron expression").fill("0 8 * * *");
    Parts.button(page, "Save").click();

    assertThat(Parts.alert(page)).isVisible();
    Assertions.assertThat(read("changed").get("cron").asString()).isEqualTo("0 7 * * *");
  }

  @Test
  void next_runs_follow_the_edited_schedule() {
    put("ruled", "0 5 * * *");
    Page page = dashboard.open("/schedules/ruled");
    Locator runs = page.locator("section[aria-labelledby=next] li");
    Parts.button(page, "Show 20").click();
    assertThat(runs).hasCount(20);
    assertThat(runs.first()).containsText("05:00");

    Dashboard.go(page, "/schedules/ruled?edit=1");
    page.getByLabel("Cron expression").fill("0 6 * * *");
    Parts.button(page, "Save").click();

    assertThat(runs).hasCount(5);
    assertThat(runs.first()).containsText("06:00");
  }

  @Test
  void the_filter_of_runs_is_in_the_address() {
    put("filtered", "0 5 * * *");
    Page page = dashboard.open("/schedules/filtered");
    Locator shown = page.locator("section[aria-labelledby=fires] select");

    shown.selectOption("skipped");
    assertThat(page).hasURL(Pattern.compile("outcome=skipped"));
    Dashboard.go(page, "/schedules/filtered");

    assertThat(shown).hasValue("");
  }

  @Test
  void a_schedule_can_be_paused_with_a_reason_and_resumed() {
    put("paused", "0 5 * * *");
    Page page = dashboard.open("/schedules/paused");

    Parts.button(page, "Pause").click();
    Parts.dialog(page).getByLabel("Reason").fill("holidays <i>");
    Parts.confirm(page, "Pause");
    assertThat(page.getByRole(AriaRole.NOTE)).containsText("holidays <i>");
    Parts.button(page, "Resume").click();
    Parts.confirm(page, "Resume");

    assertThat(page.getByRole(AriaRole.NOTE)).hasCount(0);
    Assertions.assertThat(read("paused").get("paused").asBoolean()).isFalse();
  }

  @Test
  void a_trigger_creates_a_task_that_is_shown_on_the_strip() {
    put("triggered", "0 5 1 1 *");
    Page page = dashboard.open("/schedules/triggered");

    Parts.button(page, "Trigger now").click();
    Parts.confirm(page, "Trigger");

    Locator detail = page.locator(".fire-detail");
    assertThat(detail).containsText("manual");
    assertThat(detail).containsText("completed");
    detail.getByRole(AriaRole.LINK).first().click();
    assertThat(Parts.heading(page)).containsText("ticks");
    assertThat(Parts.main(page)).containsText("triggered");
  }

  @Test
  void a_backfill_shows_its_count_before_it_starts_and_its_progress_after() {
    put("filled", "0 * * * *");
    Page page = dashboard.open("/schedules/filled");

    Parts.button(page, "Backfill").click();
    Parts.confirm(page, "Preview");
    assertThat(Parts.dialog(page)).containsText(Pattern.compile("Create 2[3-5] tasks"));
    Parts.dialog(page).locator("[type=submit]").click();

    assertThat(page.locator("c-backfills")).containsText("Done");
    assertThat(page.locator("c-fire-strip button.mark.mark-ok").first()).isVisible();
    assertThat(page.locator("section[aria-labelledby=fires] tbody tr").first()).isVisible();
    Axe.check(page, "backfilled");
  }

  @Test
  void arrow_keys_move_between_the_runs_of_the_strip() {
    // Hours from now: a run within the next minute would already have its task.
    put("walked", "0 %d * * *".formatted(LocalTime.now(ZoneOffset.UTC).plusHours(12).getHour()));
    dashboard.carillon().triggerSchedule("walked");
    Page page = dashboard.open("/schedules/walked");
    Locator marks = page.locator("c-fire-strip button.mark");

    marks.first().focus();
    page.keyboard().press("ArrowRight");
    page.keyboard().press("Enter");

    assertThat(marks.nth(1)).isFocused();
    assertThat(page.locator(".fire-detail")).containsText("upcoming");
  }

  @Test
  void a_schedule_is_deleted_by_typing_its_name() {
    dashboard.expect(404);
    put("deleted", "0 5 * * *");
    Page page = dashboard.open("/schedules/deleted");

    Parts.button(page, "Delete").click();
    assertThat(Parts.button(Parts.dialog(page), "Delete")).isDisabled();
    Parts.dialog(page).locator("input").last().fill("deleted");
    Parts.confirm(page, "Delete");

    assertThat(page).hasTitle("Schedules · Carillon");
    assertThat(Parts.rows(page, "deleted")).hasCount(0);
  }

  @Test
  void a_viewer_sees_no_actions() {
    put("seen", "0 5 * * *");
    Page page = dashboard.open("/schedules/seen", Look.LIGHT, dashboard.newKey("viewer", "Viewer"));

    for (String name : new String[] {"Trigger now", "Pause", "Backfill", "Edit", "Delete"}) {
      assertThat(Parts.button(page, name)).hasCount(0);
    }
  }
}
