package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.NewTask;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The list of tasks: search, filters, paging, live rows and bulk actions. */
class TasksPageTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static final Receiver receiver = new Receiver();
  private static final Map<String, Object> DISCARD = Map.of("discard", Map.of());

  @BeforeAll
  static void fill() {
    receiver.respond("/gone", 404, "no such order");
    dashboard.carillon().put("/v1/types/found", Map.of("target", DISCARD));
    dashboard.carillon().put("/v1/types/lost", Map.of("target", receiver.target("/gone")));
    createTasks("found", 3, Duration.ZERO);
    createTasks("waiting", 120, Duration.ofHours(3));
    createTasks("lost", 4, Duration.ZERO);
    await("dead letters").until(() -> count("status=DEAD&type=lost") == 4);
  }

  @AfterAll
  static void close() {
    receiver.close();
  }

  private static List<UUID> createTasks(String type, int count, Duration delay) {
    return dashboard
        .carillon()
        .enqueueAll(
            IntStream.range(0, count)
                .mapToObj(
                    i -> {
                      NewTask task =
                          NewTask.of(type)
                              .key(type + "-" + i)
                              .delay(delay)
                              .metadata("half", i % 2 == 0 ? "even" : "odd");
                      return type.equals("lost") ? task : task.target(DISCARD);
                    })
                .toList());
  }

  private static int count(String query) {
    return dashboard.count(query);
  }

  private static Locator search(Page page) {
    return page.getByRole(AriaRole.SEARCHBOX);
  }

  private static Locator rows(Page page) {
    return page.locator("main tbody tr");
  }

  @Test
  void searching_an_id_opens_its_task() {
    UUID id = createTasks("found", 1, Duration.ZERO).getFirst();
    Page page = dashboard.open("/tasks");

    search(page).fill(" " + id + " ");
    page.keyboard().press("Enter");

    assertThat(Parts.main(page)).containsText(id.toString());
    assertThat(page).hasTitle(Pattern.compile("found .*"));
  }

  @Test
  void searches_by_key_and_metadata_are_in_the_address() {
    Page page = dashboard.open("/tasks");
    search(page).fill("waiting-7");
    page.keyboard().press("Enter");
    assertThat(rows(page)).hasCount(1);
    assertThat(page).hasURL(Pattern.compile(".*#/tasks\\?key=waiting-7"));

    page.goBack();
    search(page).fill("half=odd");
    Parts.button(page, "Search").click();

    assertThat(page).hasURL(Pattern.compile(".*metadata\\.half=odd"));
    assertThat(page.getByText("waiting-2", new Page.GetByTextOptions().setExact(true))).hasCount(0);
    page.reload();
    assertThat(Parts.main(page)).containsText("half = odd");
  }

  @Test
  void all_filters_of_the_form_reach_the_api() {
    Page page = dashboard.open("/tasks?status=DEAD");
    Parts.button(page, "Filters").click();
    Locator form = page.locator("c-filters");
    form.getByLabel("Type").fill("lost");
    form.getByLabel("Error or response contains").fill("404");
    form.getByLabel("Metadata").fill("half=even");
    Parts.button(page, "Apply filters").click();
    assertThat(rows(page)).hasCount(2);
    Axe.check(page, "filtered");

    page.locator("a.chip", new Page.LocatorOptions().setHasText("half")).click();
    assertThat(rows(page)).hasCount(4);
    form.getByLabel("Due before").fill("2099-01-01T00:00");
    Parts.button(page, "Apply filters").click();
    assertThat(page.locator(".bulk")).containsText("To redrive all dead tasks");
    form.getByLabel("Due before").fill("2020-01-01T00:00");
    Parts.button(page, "Apply filters").click();

    assertThat(page.locator("main .empty")).containsText("No tasks match");
  }

  @Test
  void the_list_is_paged_forward_and_back() {
    Page page = dashboard.open("/tasks?type=waiting");
    assertThat(rows(page)).hasCount(50);
    String first = rows(page).first().innerText();

    page.getByText("Next →").click();
    assertThat(page.locator("c-pager")).containsText("Page 2");
    assertThat(rows(page).first()).not().hasText(first);
    page.getByText("Next →").click();
    assertThat(rows(page)).hasCount(20);
    page.getByText("← Previous").click();
    page.getByText("← Previous").click();

    assertThat(page.locator("c-pager")).containsText("Page 1");
  }

  @Test
  void a_failed_next_page_keeps_the_current_one() {
    dashboard.expect(503);
    Page page = dashboard.open("/tasks?type=waiting");
    page.route(
        "**/v1/tasks?*cursor=*",
        route -> route.fulfill(new Route.FulfillOptions().setStatus(503)),
        new Page.RouteOptions().setTimes(1));

    page.getByText("Next →").click();
    assertThat(Parts.alert(page)).isVisible();
    assertThat(page.locator("c-pager")).containsText("Page 1");
    page.getByText("Next →").click();

    assertThat(page.locator("c-pager")).containsText("Page 2");
    assertThat(Parts.alert(page)).hasCount(0);
  }

  @Test
  void shown_rows_update_in_place_and_others_are_only_announced() {
    UUID id = createTasks("watched", 1, Duration.ofHours(1)).getFirst();
    Page page = dashboard.open("/tasks?type=watched");
    List<String> requested = new ArrayList<>();
    page.onRequest(request -> requested.add(request.url()));
    assertThat(rows(page).first()).containsText("Scheduled");
    assertThat(page.locator(".live")).containsText("Live");

    dashboard.carillon().cancel(id);
    assertThat(rows(page).first()).containsText("Cancelled");
    createTasks("watched", 1, Duration.ZERO);

    page.getByText(Pattern.compile("updates? · Refresh")).click();
    assertThat(rows(page)).hasCount(2);
    Assertions.assertThat(requested).noneMatch(url -> url.contains("/v1/tasks/"));
  }

  @Test
  void changes_without_an_event_are_shown() {
    UUID id = createTasks("unannounced", 1, Duration.ofHours(1)).getFirst();
    Page page = dashboard.open("/tasks?type=unannounced");
    // A stream that ends before its first event.
    page.route(
        "**/v1/events",
        route ->
            route.fulfill(
                new Route.FulfillOptions().setContentType("text/event-stream").setBody(":\n\n")));
    page.reload();
    assertThat(rows(page).first()).containsText("Scheduled");

    dashboard.carillon().cancel(id);

    assertThat(rows(page).first()).containsText("Cancelled");
  }

  @Test
  void failed_requests_are_repeated_after_a_reconnect() {
    Page page = dashboard.open("/types");
    page.route("**/v1/tasks?*", route -> route.abort("aborted"));
    page.route("**/ui/pages/type.js", route -> route.abort("aborted"));
    Dashboard.goWithoutWaiting(page, "/tasks?type=found");
    assertThat(Parts.alert(page)).containsText("Cannot reach the server");
    page.unroute("**/v1/tasks?*");
    reconnect(page);
    assertThat(rows(page).first()).containsText("Completed");
    assertThat(Parts.alert(page)).hasCount(0);

    Dashboard.goWithoutWaiting(page, "/types/found");
    assertThat(Parts.alert(page)).containsText("could not be loaded");
    page.unroute("**/ui/pages/type.js");
    reconnect(page);

    assertThat(page).hasTitle("found · Carillon");
    assertThat(Parts.alert(page)).hasCount(0);
  }

  private static void reconnect(Page page) {
    page.evaluate("async () => (await import('/ui/live.js')).live.start()");
  }

  @Test
  void selected_tasks_can_be_cancelled() {
    createTasks("picked", 3, Duration.ofHours(1));
    Page page = dashboard.open("/tasks?type=picked");

    rows(page).nth(0).getByRole(AriaRole.CHECKBOX).check();
    rows(page).nth(2).getByRole(AriaRole.CHECKBOX).check();
    Parts.button(page, "Cancel").click();
    assertThat(Parts.dialog(page)).containsText("Cancel 2 tasks?");
    Axe.check(page, "bulk cancel");
    Parts.confirm(page, "Cancel 2 tasks");

    assertThat(Parts.toasts(page)).containsText("2 tasks cancelled");
    Assertions.assertThat(count("type=picked&status=CANCELLED")).isEqualTo(2);
  }

  @Test
  void all_matching_tasks_can_be_counted_and_cancelled() {
    createTasks("swept", 60, Duration.ofHours(1));
    Page page = dashboard.open("/tasks?type=swept&metadata.half=even");

    page.getByText("Select all matching").click();
    Parts.button(page, "Cancel").click();
    assertThat(Parts.dialog(page)).containsText("30 tasks");
    assertThat(Parts.button(Parts.dialog(page), "Back")).isFocused();
    List<Route> held = new ArrayList<>();
    page.route("**/v1/tasks/cancel", held::add);
    Parts.confirm(page, "Cancel 30 tasks");
    assertThat(Parts.dialog(page)).containsText("0 of 30");
    page.waitForCondition(() -> !held.isEmpty());
    held.getFirst().resume();

    assertThat(Parts.toasts(page)).containsText("30 tasks cancelled");
    Assertions.assertThat(count("type=swept&status=PENDING")).isEqualTo(30);
  }

  @Test
  void all_matching_tasks_can_be_run_now() {
    createTasks("rushed", 60, Duration.ofHours(1));
    Page page = dashboard.open("/tasks?type=rushed&status=PENDING");

    page.getByText("Select all matching").click();
    Parts.button(page, "Run now").click();
    assertThat(Parts.dialog(page)).containsText("60 tasks");
    Parts.confirm(page, "Run 60 tasks");

    assertThat(Parts.toasts(page)).containsText("60 tasks due now");
    await("completion").until(() -> count("type=rushed&status=COMPLETED") == 60);
  }

  @Test
  void redriving_dead_tasks_can_be_undone() {
    dashboard.carillon().put("/v1/types/again", Map.of("target", receiver.target("/gone")));
    dashboard
        .carillon()
        .enqueueAll(IntStream.range(0, 5).mapToObj(_ -> NewTask.of("again")).toList());
    await("dead letters").until(() -> count("type=again&status=DEAD") == 5);
    dashboard.carillon().post("/v1/types/again/pause", Map.of());
    Page page = dashboard.open("/tasks?type=again&status=DEAD");

    page.getByLabel("Select all on this page").check();
    Parts.button(page, "Redrive").click();
    assertThat(Parts.dialog(page)).containsText("5 dead letters");
    Parts.confirm(page, "Redrive");
    assertThat(Parts.toasts(page)).containsText("5 tasks redriven");
    Assertions.assertThat(count("type=again&status=PENDING")).isEqualTo(5);
    Parts.button(Parts.toasts(page), "Undo").click();

    await("dead again").until(() -> count("type=again&status=DEAD") == 5);
  }

  @Test
  void every_status_has_a_tab_and_an_unknown_status_is_an_error() {
    dashboard.expect(422);
    Page page = dashboard.open("/tasks");
    for (String status :
        new String[] {"Pending", "Running", "Completed", "Dead", "Cancelled", "Expired", "All"}) {
      page.locator("nav.tabs a", new Page.LocatorOptions().setHasText(status)).first().click();
      assertThat(page.locator("nav.tabs a[aria-current=page]")).containsText(status);
      Dashboard.awaitLoaded(page);
    }
    Dashboard.go(page, "/tasks?status=dead");
    assertThat(Parts.alert(page)).containsText("is not a status");
    assertThat(rows(page)).hasCount(0);
  }

  @Test
  void a_viewer_sees_no_actions() {
    Page page =
        dashboard.open("/tasks?type=waiting", Look.LIGHT, dashboard.newKey("viewer", "Viewer"));
    rows(page).first().getByRole(AriaRole.CHECKBOX).check();

    assertThat(Parts.button(page, "Cancel")).hasCount(0);
    assertThat(Parts.button(page, "Run now")).hasCount(0);
  }
}
