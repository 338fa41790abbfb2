package carillon.browser;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.NewTask;
import com.microsoft.playwright.Page;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/**
 * Text from tenants, workers and targets is shown as text in every field and never runs. A script
 * that ran would set a flag, open a dialog, request an address or violate the page's policy: {@link
 * HiddenErrors} detects all four.
 */
class HostileTextTest {

  @RegisterExtension static final Dashboard dashboard = new Dashboard();

  private static final String SCRIPT = "<script>window.hostile=1;alert(1)</script>";
  private static final String IMAGE = "<img src=x onerror=\"window.hostile=1\">";

  private static final String BIDIRECTIONAL = "\u202Egnp.exe\u202C \u2066\u2069 \u200B\uFEFF";

  /** Texts that fit into every field; each is tried in every field. */
  private static final List<String> TEXTS =
      List.of(
          SCRIPT + IMAGE + "\"><svg onload=window.hostile=1>'`",
          "</textarea></title></style><style>*{display:none!important}</style>"
              + "${window.hostile=1}{{constructor.constructor('window.hostile=1')()}}<%= 1 %>"
              + "javascript:window.hostile=1//http://example.com",
          BIDIRECTIONAL
              + "x; background: url(//evil.example/x); } body { display: none } /*"
              + "<a href=\"javascript:window.hostile=1\" style=\"position:fixed;inset:0\">x</a>",
          "javascript:window.hostile=1");

  /** Allowed in outputs and errors, but not in keys and names. */
  private static final String ANSI = "\u001B[31mred\u001B[0m\u0007";

  private static final String LONG = "W".repeat(256 * 1024 - 4_000);

  private static final Receiver receiver = new Receiver();
  private static final Map<String, UUID> tasks = new HashMap<>();

  @BeforeAll
  static void fill() {
    Carillon carillon = dashboard.carillon();
    receiver.respond("/hostile", 400, String.join("\n", TEXTS) + ANSI);
    Map<String, Object> http =
        Map.of(
            "url",
            receiver.url("/hostile"),
            "headers",
            Map.of("X-Hostile", SCRIPT, "X-Image", IMAGE));
    carillon.put(
        "/v1/types/answered",
        Map.of("target", Map.of("http", http), "schema", Map.of("description", SCRIPT + IMAGE)));
    carillon.put("/v1/types/worked", Map.of("leaseTimeout", "1h"));
    for (int i = 0; i < TEXTS.size(); i++) {
      String text = TEXTS.get(i);
      tasks.put("answered" + i, carillon.enqueue(hostile("answered", text)).id());
      tasks.put("worked" + i, carillon.enqueue(hostile("worked", text)).id());
      dashboard.newKey("viewer", text.substring(0, Math.min(100, text.length())));
    }
    tasks.put("long", carillon.enqueue(NewTask.of("worked").key("long").payload(LONG)).id());
    work(carillon);
    schedules(carillon);
    await("dead letters")
        .atMost(Duration.ofSeconds(30))
        .until(
            () ->
                carillon.get("/v1/dead-letters?limit=100").get("items").size()
                    == 2 * TEXTS.size() + 1);
    carillon.post("/v1/dead-letters/redrive", Map.of("key", "nobody's " + IMAGE));
  }

  private static NewTask hostile(String type, String text) {
    return NewTask.of(type)
        .key(text)
        .concurrencyKey(text)
        .metadata("m" + text.substring(0, Math.min(40, text.length())), text)
        .payload(Map.of(text, List.of(text, Map.of(text, text)), "ansi", ANSI));
  }

  /** Workers choose their name, errors, outputs and progress. */
  private static void work(Carillon carillon) {
    for (int i = 0; i <= TEXTS.size(); i++) {
      String text = i < TEXTS.size() ? TEXTS.get(i) : LONG;
      JsonNode claimed =
          carillon.post(
              "/v1/work/claim",
              Map.of(
                  "types",
                  List.of("worked"),
                  "max",
                  1,
                  "wait",
                  "10s",
                  "worker",
                  text.substring(0, Math.min(100, text.length()))));
      List<Map<String, Object>> results = new ArrayList<>();
      for (JsonNode task : claimed.get("tasks")) {
        results.add(
            Map.of(
                "id", task.get("id").asString(),
                "token", task.get("token").asString(),
                "outcome", "dead",
                "output", Map.of("answer", text.substring(0, Math.min(60_000, text.length()))),
                "error", text + "\n" + ANSI + "\nsecond line " + IMAGE));
      }
      carillon.post("/v1/work/report", Map.of("results", results));
    }
  }

  private static void schedules(Carillon carillon) {
    for (int i = 0; i < TEXTS.size(); i++) {
      String text = TEXTS.get(i);
      String path = "/v1/schedules/hostile-" + i;
      carillon.put(
          path,
          Map.of(
              "cron",
              "0 0 * * *",
              "type",
              "fired",
              "key",
              text,
              "payload",
              Map.of(text, text),
              "target",
              Map.of("discard", Map.of())));
      carillon.post(path + "/trigger", Map.of());
      carillon.post(path + "/pause", Map.of("reason", text));
    }
    Instant now = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    carillon.post(
        "/v1/schedules/hostile-0/backfill",
        Map.of("from", now.minus(Duration.ofDays(3)).toString(), "to", now.toString()));
  }

  @AfterAll
  static void close() {
    receiver.close();
  }

  static Stream<String> routes() {
    List<String> routes =
        new ArrayList<>(
            List.of(
                "/overview",
                "/tasks",
                "/tasks?status=DEAD",
                "/tasks?key=" + encoded(IMAGE),
                "/tasks?error=" + encoded(SCRIPT) + "&type=" + encoded(IMAGE),
                "/tasks?metadata.x=" + encoded(SCRIPT),
                "/dead-letters",
                "/dead-letters?view=letters",
                "/dead-letters?view=letters&error=" + encoded(IMAGE) + "&key=" + encoded(SCRIPT),
                "/dead-letters?view=redrives",
                "/schedules",
                "/types",
                "/types/answered",
                "/types/answered?edit=1",
                "/types/" + encoded(IMAGE),
                "/schedules/" + encoded(SCRIPT),
                "/tasks/" + encoded(SCRIPT),
                "/settings",
                "/settings?tab=about",
                "/tasks/" + tasks.get("long")));
    groups("worked").forEach(group -> routes.add(letters("worked", group)));
    groups("answered").forEach(group -> routes.add(letters("answered", group)));
    for (int i = 0; i < TEXTS.size(); i++) {
      routes.add("/tasks/" + tasks.get("answered" + i));
      routes.add("/tasks/" + tasks.get("worked" + i));
      routes.add("/schedules/hostile-" + i);
      routes.add("/schedules/hostile-" + i + "?edit=1");
    }
    return routes.stream();
  }

  private static List<String> groups(String type) {
    List<String> groups = new ArrayList<>();
    for (JsonNode group :
        dashboard.carillon().get("/v1/dead-letters/groups?type=" + type).get("items")) {
      groups.add(group.get("group").asString());
    }
    Assertions.assertThat(groups).isNotEmpty();
    return groups;
  }

  private static String groupOf(String task) {
    for (JsonNode letter : dashboard.carillon().get("/v1/dead-letters?limit=100").get("items")) {
      if (letter.get("id").asString().equals(String.valueOf(tasks.get(task)))) {
        return letter.get("group").asString();
      }
    }
    throw new AssertionError(task + " is not dead");
  }

  private static String letters(String type, String group) {
    return "/dead-letters?view=letters&type=" + type + "&group=" + encoded(group);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  @Test
  void no_page_runs_hostile_text() {
    dashboard.expect(400);
    dashboard.expect(404);
    dashboard.expect(422);
    Page page = dashboard.open("/settings", Look.LIGHT, dashboard.newKey("owner", SCRIPT + IMAGE));
    for (String route : routes().toList()) {
      Dashboard.go(page, route);
      unfold(page);

      Assertions.assertThat(page.evaluate(INTRUDERS)).as(route).isEqualTo(List.of());
      Assertions.assertThat(PagesTest.overflow(page)).as("%s is too wide by", route).isZero();
      assertThat(page.locator("header.top")).isVisible();
    }
  }

  /** Expands everything that can be expanded. */
  private static void unfold(Page page) {
    page.evaluate(
        """
        () => {
          document.querySelectorAll('main details').forEach(each => { each.open = true; });
          document.querySelectorAll('main [aria-expanded=false]').forEach(each => each.click());
        }
        """);
    Dashboard.awaitLoaded(page);
  }

  /** Elements and addresses that only hostile text could have created. */
  private static final String INTRUDERS =
      """
      () => [...document.querySelectorAll(
          'body script, body style, [onload], [onerror], img[src="x"], body [style*="fixed"], [href^="javascript" i]')]
          .map(each => each.outerHTML.slice(0, 200))
      """;

  @Test
  void no_dialog_runs_hostile_text() {
    Page page = dashboard.open("/tasks/" + tasks.get("answered0"));

    Parts.button(page, "Edit and redrive").click();

    assertThat(Parts.dialog(page).getByLabel("Key")).hasValue(TEXTS.getFirst());
    Assertions.assertThat(page.evaluate(INTRUDERS)).isEqualTo(List.of());
    page.keyboard().press("Escape");
    assertThat(Parts.dialog(page)).hasCount(0);
  }

  @Test
  void forms_keep_hostile_text_as_their_value() {
    Page page = dashboard.open("/schedules/hostile-0?edit=1");

    assertThat(page.getByLabel("Key", new Page.GetByLabelOptions().setExact(true)))
        .hasValue(TEXTS.getFirst());
    Dashboard.go(page, "/types/answered?edit=1");
    assertThat(page.getByLabel("Headers").first()).hasValue(Pattern.compile("X-Hostile: <script>"));
  }

  record Shown(String route, String text) {}

  static Stream<Shown> shown() {
    return Stream.of(
        new Shown("/tasks?status=DEAD", SCRIPT),
        new Shown("/tasks/" + tasks.get("worked0"), IMAGE),
        new Shown("/tasks/" + tasks.get("answered0"), SCRIPT),
        new Shown("/dead-letters", "<svg onload"),
        new Shown("/dead-letters?view=letters", SCRIPT),
        new Shown(letters("worked", groupOf("worked0")), SCRIPT),
        new Shown("/dead-letters?view=redrives", IMAGE),
        new Shown("/schedules/hostile-0", SCRIPT),
        new Shown("/settings", IMAGE));
  }

  @ParameterizedTest
  @MethodSource("shown")
  void hostile_text_is_shown_as_text(Shown shown) {
    Page page = dashboard.open(shown.route());
    unfold(page);

    assertThat(Parts.main(page)).containsText(shown.text());
  }

  @Test
  void control_and_bidirectional_characters_are_shown_as_codes() {
    Page page = dashboard.open("/tasks/" + tasks.get("worked2"));

    assertThat(Parts.main(page)).containsText("⟨202E⟩gnp.exe");
    assertThat(Parts.main(page)).containsText("␛[31mred");
  }

  @Test
  void a_long_text_is_truncated_until_it_is_expanded() {
    Page page = dashboard.open("/tasks/" + tasks.get("long"));
    long before = length(page);

    page.getByText("Show all").first().click();

    Assertions.assertThat(before).isLessThan(70_000);
    Assertions.assertThat(length(page)).isGreaterThanOrEqualTo(LONG.length());
    Assertions.assertThat(PagesTest.overflow(page)).isZero();
  }

  private static long length(Page page) {
    return page.locator("pre[aria-label=Payload]").textContent().length();
  }
}
