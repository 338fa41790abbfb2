package carillon.browser;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.client.Carillon;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Page;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import tools.jackson.databind.JsonNode;

/**
 * The dashboard for a test class: a separate tenant, and a monitored tab for each test.
 *
 * <p>A test with {@link HiddenErrors} fails; a failed test leaves a screenshot.
 */
final class Dashboard
    implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {

  private static final Path SCREENSHOTS = Path.of("target/screenshots");

  private final Map<String, String> keys = new HashMap<>();
  private @Nullable Site site;
  private @Nullable String key;
  private @Nullable String tenant;
  private @Nullable Carillon carillon;
  private @Nullable BrowserContext context;

  /** A tab that stays open to keep the process that all tabs share alive; see {@link Site}. */
  private @Nullable Page firstTab;

  private @Nullable Page page;
  private final HiddenErrors errors = new HiddenErrors();

  @Override
  public void beforeAll(ExtensionContext test) {
    site = Site.of(test);
    tenant = test.getRequiredTestClass().getSimpleName().toLowerCase(Locale.ROOT);
    admin().put("/v1/tenants/" + tenant, Map.of());
    key = newKey("owner", "Owner");
    carillon = site.connect(key);
  }

  @Override
  public void beforeEach(ExtensionContext test) {
    errors.clear();
    page = null;
  }

  @Override
  public void afterEach(ExtensionContext test) {
    Page page = this.page;
    if (page == null) {
      return;
    }
    try {
      if (test.getExecutionException().isPresent()) {
        String name = test.getRequiredTestClass().getSimpleName() + "." + test.getDisplayName();
        save(page, "failed-" + name.replaceAll("[^A-Za-z0-9._-]", ""));
        System.err.println("hidden errors: " + errors.list());
      } else {
        assertThat(errors.list()).as("hidden errors").isEmpty();
      }
    } finally {
      page.context().pages().stream().filter(each -> !each.equals(firstTab)).forEach(Page::close);
    }
  }

  @Override
  public void afterAll(ExtensionContext test) {
    if (context != null) {
      context.close();
    }
  }

  /** Signs in with the owner key of the test class and opens a route, such as {@code /tasks}. */
  Page open(String route) {
    return open(route, Look.LIGHT);
  }

  Page open(String route, Look look) {
    return open(route, look, ownerKey());
  }

  /** Signs in with the key and opens the route. */
  Page open(String route, Look look, String key) {
    Page page = newPage(look);
    // SignInTest tests the form.
    page.addInitScript(
        "if (sessionStorage.length === 0) sessionStorage.setItem('carillon.key', '%s');"
            .formatted(key));
    page.navigate(site().url() + "/#" + route);
    awaitLoaded(page);
    return page;
  }

  /** Opens the route without signing in. */
  Page openSignedOut(String route, Look look) {
    Page page = newPage(look);
    page.navigate(site().url() + "/#" + route);
    return page;
  }

  private Page newPage(Look look) {
    BrowserContext context = this.context;
    if (context == null) {
      context = site().browser().newContext(Look.options());
      context.setDefaultTimeout(Site.TIMEOUT_MILLIS);
      firstTab = context.newPage();
      firstTab.navigate(site().url() + "/ui/icon.svg");
      errors.watch(context);
      this.context = context;
    }
    Page page = context.newPage();
    look.applyTo(page);
    this.page = page;
    return page;
  }

  static void signIn(Page page, String key) {
    page.getByLabel("API key").fill(key);
    Parts.button(page, "Sign in").click();
  }

  /** Opens another route in the same tab and waits until it is loaded. */
  static void go(Page page, String route) {
    goWithoutWaiting(page, route);
    awaitLoaded(page);
  }

  /** Opens another route in the same tab, without waiting. */
  static void goWithoutWaiting(Page page, String route) {
    page.evaluate("route => { location.hash = route; }", route);
  }

  /** Returns when the page has its heading and has loaded its data. */
  static void awaitLoaded(Page page) {
    page.locator("header.top ~ main h1").first().waitFor();
    page.waitForFunction("() => !document.querySelector('main :is([aria-busy=true], .loading)')");
  }

  /** Allows responses with this status in the current test. */
  void expect(int status) {
    errors.expect(status);
  }

  /** Saves a screenshot of the tab. */
  static void screenshot(Page page, String name, Look look) {
    look.applyTo(page);
    save(page, name + "-" + look);
  }

  private static void save(Page page, String name) {
    page.screenshot(new Page.ScreenshotOptions().setPath(SCREENSHOTS.resolve(name + ".png")));
  }

  /** Creates a key in the tenant of the test class. */
  String newKey(String role, String name, String... types) {
    Map<String, Object> request =
        types.length == 0
            ? Map.of("name", name, "role", role)
            : Map.of("name", name, "role", role, "types", List.of(types));
    JsonNode created = admin().withTenant(tenant()).post("/v1/keys", request);
    keys.put(created.get("key").asString(), created.get("id").asString());
    return created.get("key").asString();
  }

  void revoke(String key) {
    admin().withTenant(tenant()).delete("/v1/keys/" + keys.get(key));
  }

  String tenant() {
    return required(tenant);
  }

  String ownerKey() {
    return required(key);
  }

  String adminKey() {
    return site().adminKey();
  }

  /** A client with the owner key of the test class. */
  Carillon carillon() {
    return required(carillon);
  }

  /**
   * The number of tasks that match the query. On a busy machine a page of the list may be short,
   * even empty, and still have a cursor.
   */
  int count(String query) {
    int count = 0;
    String cursor = "";
    do {
      JsonNode page = carillon().get("/v1/tasks?limit=1000&" + query + cursor);
      count += page.get("items").size();
      cursor = page.hasNonNull("nextCursor") ? "&cursor=" + page.get("nextCursor").asString() : "";
    } while (!cursor.isEmpty());
    return count;
  }

  Carillon admin() {
    return site().connect(adminKey());
  }

  private Site site() {
    return required(site);
  }

  private static <T> T required(@Nullable T value) {
    if (value == null) {
      throw new IllegalStateException("not available before the test class has started");
    }
    return value;
  }
}
