package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.app.config.ConfigLoader;
import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code carillon schedule ...} with a real server. */
class ScheduleServerTest {

  private static final String FILE =
      """
      schedules:
        - name: nightly
          cron: "30 2 * * *"
          timezone: Europe/Berlin
          dst: {gap: skip}
          type: report
          key: night
          priority: 7
          payload: {part: 0.10, tags: [a, null]}
          retry: {maxAttempts: 3, max: 10m}
          overlap: queue
          catchUp: all
          catchUpLimit: 5
          catchUpWindow: 2d
          jitter: 90s
          startAt: 2030-01-01T00:00:00+01:00
          endAt: 2040-01-01T00:00:00Z
          maxRuns: 1000
          pauseAfterFailures: 3
          target:
            http: {url: "http://127.0.0.1:9000/run", headers: {x-a: "1"}, timeout: 5s}
      ---
      schedules:
        - {name: often, every: 90s, type: report, paused: true, target: {discard: {}}}
        - {name: hashed, cron: H H * * *, type: report}
      """;

  private static final JsonMapper JSON = new JsonMapper();

  @TempDir static Path directory;

  private static Running node;
  private static String key;

  private Terminal terminal;

  @BeforeAll
  static void start() throws IOException {
    Db.Address database = Postgres.freshDatabase();
    String url =
        "%s?user=%s&password=%s".formatted(database.url(), database.user(), database.password());
    node =
        Wiring.start(
            new ConfigLoader(Map.of(), directory)
                .load(Map.of("port", "0", "database-url", url, "allow-targets", "127.0.0.0/8")));
    key = Files.readString(directory.resolve("data/admin-key")).strip();
  }

  @AfterAll
  static void stop() {
    node.close();
  }

  @BeforeEach
  void prepare() {
    terminal = new Terminal(directory, node.url().toString(), key);
    terminal.environment.put("CARILLON_TENANT", "default");
  }

  /** Creates a tenant and uses it for this test. */
  private void useTenant(String name) {
    try (Carillon carillon = Carillon.connect(node.url(), key)) {
      carillon.put("/v1/tenants/" + name, Map.of());
    }
    terminal.environment.put("CARILLON_TENANT", name);
  }

  private String run(String... args) {
    assertThat(terminal.run(args)).as(() -> terminal.err()).isZero();
    return terminal.out();
  }

  private JsonNode json(String... args) {
    return JSON.readTree(run(more(args, "--json")));
  }

  private static String[] more(String[] args, String... more) {
    return Stream.concat(Arrays.stream(args), Arrays.stream(more)).toArray(String[]::new);
  }

  private void file(String text) throws IOException {
    Files.writeString(directory.resolve("f.yaml"), text);
  }

  @Test
  void a_file_applied_twice_changes_nothing_the_second_time() throws IOException {
    useTenant("twice");
    file(FILE);

    assertThat(run("schedule", "apply", "-f", "f.yaml"))
        .isEqualTo(
            """
            + nightly  created
            + often    created
            + hashed   created
            3 created, 0 changed, 0 unchanged, 0 removed
            """);
    JsonNode nightly = json("schedule", "get", "nightly");
    assertThat(run("schedule", "apply", "-f", "f.yaml", "--prune"))
        .isEqualTo(
            """
            = nightly  unchanged
            = often    unchanged
            = hashed   unchanged
            0 created, 0 changed, 3 unchanged, 0 removed
            """);

    assertThat(json("schedule", "get", "nightly").path("version"))
        .isEqualTo(nightly.path("version"));
    assertThat(nightly.path("payload")).hasToString("{\"part\":0.1,\"tags\":[\"a\",null]}");
    assertThat(json("schedule", "get", "often").path("status").asString()).isEqualTo("PAUSED");
  }

  @Test
  void changes_are_shown_applied_and_pruned() throws IOException {
    useTenant("changed");
    file(FILE);
    run("schedule", "apply", "-f", "f.yaml");
    file(
        FILE.replace("30 2 * * *", "30 3 * * *")
            .replace("priority: 7", "")
            .replace("x-a: \"1\"", "x-a: \"2\"")
            .replaceAll("  - .name: hashed.*\n", "  - {name: new, every: 1h, type: report}\n"));
    String steps =
        """
        ~ nightly  changed: cron "30 2 * * *" → "30 3 * * *", priority 7 → none, target.http.headers.x-a (hidden)
        = often    unchanged
        + new      created
        - hashed   removed
        """;

    assertThat(run("schedule", "apply", "-f", "f.yaml", "--prune", "--dry-run"))
        .isEqualTo(
            steps + "dry run: 3 would change (1 created, 1 changed, 1 unchanged, 1 removed)\n");
    assertThat(run("schedule", "list")).contains("30 2 * * *", "hashed").doesNotContain("new ");
    assertThat(run("schedule", "apply", "-f", "f.yaml", "--prune"))
        .isEqualTo(steps + "1 created, 1 changed, 1 unchanged, 1 removed\n");
    assertThat(run("schedule", "list")).contains("30 3 * * *", "new").doesNotContain("hashed");
  }

  @Test
  void a_secret_in_a_file_is_compared_by_the_server_and_never_shown() throws IOException {
    useTenant("secrets");
    String yaml =
        """
        schedules:
          - name: s
            every: 1h
            type: report
            target:
              http: {url: "http://127.0.0.1:9000/?token=%s", headers: {X-Key: %s, x-lame: %s}, secretHeaders: [x-lame]}
        """;
    String unknown = "target.http.headers.X-Key, target.http.headers.x-lame, target.http.url";
    file(yaml.formatted("marker1", "marker2", "marker3"));
    String all = run("schedule", "apply", "-f", "f.yaml");

    all += run("schedule", "apply", "-f", "f.yaml");
    assertThat(run("schedule", "apply", "-f", "f.yaml", "--dry-run"))
        .startsWith("= s  unchanged, not compared: " + unknown + "\n");
    assertThat(json("schedule", "get", "s").path("version").asInt()).isEqualTo(1);
    file(yaml.formatted("marker1", "marker2", "marker4"));
    String rotated = run("schedule", "apply", "-f", "f.yaml");
    all += rotated;

    assertThat(rotated).startsWith("~ s  changed: target.http.headers.X-Key (hidden), ");
    assertThat(json("schedule", "get", "s").path("version").asInt()).isEqualTo(2);
    // The output of schedule get can be applied again.
    file(yaml.formatted("(hidden)", "(hidden)", "(hidden)"));
    assertThat(run("schedule", "apply", "-f", "f.yaml")).startsWith("= s  unchanged\n");
    all += run("schedule", "get", "s") + run("schedule", "list", "--json");
    assertThat(all).doesNotContain("marker");
  }

  @Test
  void a_rejected_file_changes_nothing() throws IOException {
    useTenant("rejected");
    file(
        """
        schedules:
          - {name: good, every: 1h, type: t}
          - name: never
            type: t
            cron: "0 0 31 2 *"
          - name: nowhere
            cron: "@daily"
            type: t
            timezone: Mars/Phobos
          - {name: over, every: 1h, type: t, endAt: 2020-01-01T00:00:00Z}
        """);

    assertThat(terminal.run("schedule", "apply", "-f", "f.yaml")).isEqualTo(2);

    assertThat(terminal.err())
        .startsWith("carillon: f.yaml: line 5: never: /cron ")
        .endsWith("; also rejected: nowhere, over\n")
        .hasLineCount(1);
    assertThat(run("schedule", "list")).isEqualTo("no results\n");
  }

  @Test
  void a_file_is_read_from_standard_input() {
    useTenant("input");
    terminal.input = "schedules: [{name: a, cron: '@daily', type: t}]";

    assertThat(run("schedule", "apply", "-f", "-")).startsWith("+ a  created\n");
  }

  @Test
  void a_preview_notes_dst_changes() {
    assertThat(
            run(
                "schedule",
                "preview",
                "30 2 * * *",
                "--timezone",
                "Europe/Berlin",
                "--from",
                "2027-03-27T00:00:00Z",
                "--count",
                "2"))
        .contains("At 02:30 every day")
        .contains("Sat 2027-03-27 02:30:00 +01:00  2027-03-27T01:30:00.000Z  -")
        .contains("Sun 2027-03-28 03:00:00 +02:00  2027-03-28T01:00:00.000Z  02:30 does not exist");
    assertThat(run("schedule", "preview", "--every", "90s")).containsIgnoringCase("every 90 s");
  }

  @Test
  void a_schedule_can_be_paused_triggered_resumed_and_deleted() {
    useTenant("life");
    run("schedule", "put", "beat", "--every", "1s", "--type", "t", "--discard");
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> run("schedule", "runs", "beat").contains("COMPLETED"));

    assertThat(run("schedule", "pause", "beat", "--reason", "too loud"))
        .contains("PAUSED", "too loud");
    assertThat(run("schedule", "list")).contains("PAUSED");
    JsonNode task = json("schedule", "trigger", "beat");
    assertThat(task.path("scheduleName").asString()).isEqualTo("beat");
    assertThat(run("schedule", "runs", "beat", "--outcome", "task"))
        .contains("trigger", task.path("id").asString());
    assertThat(run("schedule", "resume", "beat")).contains("ACTIVE");
    assertThat(run("schedule", "delete", "beat")).isEqualTo("done\n");
    assertThat(terminal.run("schedule", "get", "beat")).isEqualTo(1);
  }

  @Test
  void a_backfill_can_be_counted_followed_and_listed() {
    useTenant("past");
    run("schedule", "put", "daily", "--cron", "@daily", "--type", "t", "--discard");
    String[] backfill = {
      "schedule",
      "backfill",
      "daily",
      "--from",
      "2026-01-01T00:00:00Z",
      "--to",
      "2026-01-31T00:00:00Z"
    };

    assertThat(json(more(backfill, "--dry-run")).path("times").asInt()).isEqualTo(31);
    JsonNode done = json(more(backfill, "--watch", "--interval", "50ms"));

    assertThat(done.path("status").asString()).isEqualTo("DONE");
    assertThat(done.path("created").asInt()).isEqualTo(31);
    assertThat(run("schedule", "backfills", "daily")).contains(done.path("id").asString(), "DONE");
    assertThat(run("schedule", "runs", "daily", "--outcome", "task")).contains("backfill");
  }
}
