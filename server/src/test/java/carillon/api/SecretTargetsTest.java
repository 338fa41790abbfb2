package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.deadletters.ArchiveLine;
import carillon.api.error.ErrorCode;
import carillon.store.deadletters.DeadLetterArchive;
import carillon.testkit.OldDeadLetters;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Secrets of targets are stored and sent, but never shown. */
class SecretTargetsTest {

  private static final String SECRET = "SUPERSECRET";

  /**
   * Has a header with a secret name, one marked as secret, an ordinary one and a secret parameter.
   */
  private static final String HTTP =
      """
      {"http": {"url": "https://hooks.example/a?token=SUPERSECRET-1&page=2", "method": "POST",
       "headers": {"Authorization": "Bearer SUPERSECRET-2", "X-Tenant-Code": "SUPERSECRET-3", "X-Region": "north"},
       "secretHeaders": ["x-tenant-code"]}}\
      """;

  private static final String SHOWN =
      "{\"http\":{\"url\":\"https://hooks.example/a?token=(hidden)&page=2\",\"method\":\"POST\","
          + "\"headers\":{\"Authorization\":\"(hidden)\",\"X-Region\":\"north\","
          + "\"X-Tenant-Code\":\"(hidden)\"},\"secretHeaders\":[\"X-Tenant-Code\"]}}";

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static TestApi.Reply put(String path, String body) {
    return api.put(path).json(body).send();
  }

  private static String stored(String table, String column, String where) {
    return api.world.value(
        "SELECT %s::text FROM carillon.%s WHERE %s".formatted(column, table, where));
  }

  @Test
  void the_secrets_of_types_schedules_tasks_and_alerts_are_never_shown() {
    List<String> responses = new ArrayList<>();
    String settings =
        "{\"target\": %s, \"onComplete\": %s, \"onDead\": %s}".formatted(HTTP, HTTP, HTTP);
    responses.add(put("/v1/types/seen", settings).expect(201).body());
    responses.add(
        put(
                "/v1/schedules/seen",
                "{\"every\": \"1h\", \"type\": \"seen\", \"target\": %s}".formatted(HTTP))
            .expect(201)
            .body());
    responses.add(
        put("/v1/tenants/seen", "{\"alert\": {\"target\": %s}}".formatted(HTTP))
            .expect(200)
            .body());
    String task =
        "{\"type\": \"seen\", \"delay\": \"1h\", \"key\": \"k\", \"unique\": {\"for\": \"1h\"}, \"target\": %s,"
                .formatted(HTTP)
            + " \"onComplete\": %s, \"onDead\": %s}".formatted(HTTP, HTTP);
    TestApi.Reply created = api.post("/v1/tasks").json(task).send().expect(202);
    responses.add(created.body());
    responses.add(api.post("/v1/tasks").json(task).send().expect(200).body()); // the existing one
    responses.add(api.post("/v1/tasks").header("Idempotency-Key", "s").json(task).send().body());
    String id = created.text("id");
    for (String role : List.of("owner", "operator", "producer", "worker", "viewer")) {
      String key = api.key("default", role);
      for (String path :
          List.of(
              "/v1/types",
              "/v1/types/seen",
              "/v1/schedules?view=full",
              "/v1/schedules/seen",
              "/v1/tasks?view=full",
              "/v1/tasks/" + id)) {
        responses.add(api.request("GET", path).as(key).send().expect(200).body());
      }
    }
    responses.add(api.get("/v1/tenants").send().body());
    responses.add(api.get("/v1/tenants/seen").send().body());
    responses.add(api.get("/v1/audit").send().body());
    responses.add(api.post("/v1/schedules/seen/trigger").send().expect(202).body());
    responses.add(api.patch("/v1/tasks/" + id).json("{\"priority\": 9}").send().expect(200).body());
    responses.add(api.post("/v1/types/seen/pause").send().expect(200).body());
    responses.add(api.post("/v1/tasks/" + id + "/cancel").send().expect(200).body());

    assertThat(responses).allSatisfy(response -> assertThat(response).doesNotContain(SECRET));
    assertThat(api.get("/v1/types/seen").send().json().get("target").toString()).isEqualTo(SHOWN);
    assertThat(api.get("/v1/tasks/" + id).send().json().get("onDead").toString()).isEqualTo(SHOWN);
    // The secrets are stored, because deliveries need them.
    assertThat(stored("task_type", "target", "name = 'seen'")).contains("SUPERSECRET-3");
    assertThat(stored("task", "on_dead", "id = '" + id + "'")).contains("SUPERSECRET-2");
  }

  @Test
  void the_secrets_of_dead_letters_are_never_shown() {
    String id = createDead("died", HTTP);
    for (String role : List.of("owner", "operator", "producer", "worker", "viewer")) {
      String key = api.key("default", role);
      String listed =
          api.request("GET", "/v1/dead-letters?type=died&view=full").as(key).send().body();
      assertThat(listed).contains(id, SHOWN).doesNotContain(SECRET);
      for (String path : List.of("/v1/dead-letters?type=died", "/v1/dead-letters/groups")) {
        assertThat(api.request("GET", path).as(key).send().expect(200).body())
            .doesNotContain(SECRET);
      }
    }
    String purge = "{\"type\": \"died\"}";
    assertThat(api.post("/v1/dead-letters/purge").json(purge).send().expect(200).body())
        .doesNotContain(SECRET);
  }

  @Test
  void a_response_with_hidden_values_can_be_edited_and_sent_back() {
    put("/v1/types/back", "{\"target\": %s, \"onDead\": %s}".formatted(HTTP, HTTP)).expect(201);
    TestApi.Reply read = api.get("/v1/types/back").send();
    String tag = String.valueOf(read.header("etag"));
    ObjectNode type = (ObjectNode) read.json();
    type.put("priority", 8);
    type.remove(List.of("name", "version", "pausedReason", "signed"));

    TestApi.Reply saved =
        api.put("/v1/types/back").header("If-Match", tag).json(type.toString()).send().expect(200);

    assertThat(saved.json().get("priority").asInt()).isEqualTo(8);
    assertThat(saved.json().get("target").toString()).isEqualTo(SHOWN);
    for (String column : List.of("target", "on_dead")) {
      assertThat(stored("task_type", column, "name = 'back'"))
          .contains("token=SUPERSECRET-1&page=2", "Bearer SUPERSECRET-2", "SUPERSECRET-3")
          .doesNotContain("(hidden)");
    }
    api.put("/v1/types/back")
        .header("If-Match", tag)
        .json(type.toString())
        .send()
        .expect(ErrorCode.STALE_VERSION);
  }

  @Test
  void a_schedule_that_is_sent_back_unchanged_stays_unchanged() {
    String body = "{\"every\": \"1h\", \"type\": \"s\", \"target\": %s}";
    put("/v1/schedules/back", body.formatted(HTTP)).expect(201);

    assertThat(
            put("/v1/schedules/back", body.formatted(SHOWN))
                .expect(200)
                .json()
                .get("version")
                .asInt())
        .isEqualTo(1);
    assertThat(
            put("/v1/schedules/back", body.formatted(HTTP))
                .expect(200)
                .json()
                .get("version")
                .asInt())
        .isEqualTo(1);
    assertThat(
            put("/v1/schedules/back", body.formatted(HTTP.replace("SECRET-3", "SECRET-4")))
                .expect(200)
                .json()
                .get("version")
                .asInt())
        .isEqualTo(2);
    assertThat(stored("schedule", "target", "name = 'back'")).contains("SUPERSECRET-4");
  }

  @Test
  void the_target_of_a_task_and_of_an_alert_can_be_edited() {
    String id = api.task("{\"type\": \"e\", \"delay\": \"1h\", \"target\": %s}".formatted(HTTP));
    String edited = SHOWN.replace("north", "south");

    api.patch("/v1/tasks/" + id).json("{\"target\": %s}".formatted(edited)).send().expect(200);
    put("/v1/tenants/edit", "{\"alert\": {\"target\": %s}}".formatted(HTTP)).expect(200);
    put("/v1/tenants/edit", "{\"alert\": {\"target\": %s}}".formatted(edited)).expect(200);

    assertThat(stored("task", "target", "id = '" + id + "'"))
        .contains("south", "SUPERSECRET-1", "SUPERSECRET-2", "SUPERSECRET-3");
    assertThat(stored("tenant", "alert", "name = 'edit'"))
        .contains("south", "SUPERSECRET-1", "SUPERSECRET-2", "SUPERSECRET-3");
  }

  @Test
  void a_hidden_header_stays_secret_if_its_mark_is_omitted() {
    put("/v1/types/mark", "{\"target\": %s}".formatted(HTTP)).expect(201);

    put(
            "/v1/types/mark",
            "{\"target\": %s}"
                .formatted(SHOWN.replace(",\"secretHeaders\":[\"X-Tenant-Code\"]", "")))
        .expect(200);

    assertThat(api.get("/v1/types/mark").send().body()).doesNotContain(SECRET);
    assertThat(stored("task_type", "target", "name = 'mark'")).contains("SUPERSECRET-3");
  }

  /** Otherwise a caller that can change a target could send its secrets to another host. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "https://evil.example/a?token=(hidden)&page=2",
        "http://hooks.example/a?token=(hidden)&page=2",
        "https://hooks.example:8443/a?token=(hidden)&page=2"
      })
  void a_secret_is_not_kept_for_another_host(String url) {
    put("/v1/types/host", "{\"target\": %s}".formatted(HTTP)).expect(201);
    String before = stored("task_type", "target", "name = 'host'");

    TestApi.Reply rejected =
        put(
                "/v1/types/host",
                "{\"target\": %s}"
                    .formatted(SHOWN.replace("https://hooks.example/a?token=(hidden)&page=2", url)))
            .expect(ErrorCode.HIDDEN_VALUE);

    assertThat(
            rejected.json().get("errors").valueStream().map(each -> each.get("pointer").asString()))
        .containsExactlyInAnyOrder(
            "/target/http/headers/Authorization",
            "/target/http/headers/X-Tenant-Code",
            "/target/http/url");
    assertThat(rejected.text("detail")).contains("same scheme, host and port");
    assertThat(stored("task_type", "target", "name = 'host'")).isEqualTo(before);
    api.delete("/v1/types/host").send().expect(204);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "POST  | /v1/tasks            | {'type': 'n', 'target': T}                         |"
            + " /target/http/headers/A-Key",
        "POST  | /v1/tasks            | {'type': 'n', 'onComplete': T}                     |"
            + " /onComplete/http/headers/A-Key",
        "POST  | /v1/tasks            | {'type': 'n', 'onDead': T}                         |"
            + " /onDead/http/headers/A-Key",
        "POST  | /v1/tasks/batch      | {'tasks': [{'type': 'n', 'target': T}]}            |"
            + " /tasks/0/target/http/headers/A-Key",
        "PUT   | /v1/types/none       | {'target': T}                                      |"
            + " /target/http/headers/A-Key",
        "PUT   | /v1/types/none       | {'onDead': T}                                      |"
            + " /onDead/http/headers/A-Key",
        "PUT   | /v1/schedules/none   | {'every': '1h', 'type': 'n', 'target': T}          |"
            + " /target/http/headers/A-Key",
        "PUT   | /v1/tenants/none     | {'alert': {'target': T}}                           |"
            + " /alert/target/http/headers/A-Key"
      })
  void a_hidden_value_without_a_stored_one_is_rejected(
      String method, String path, String body, String pointer) {
    String target = "{'http': {'url': 'https://a.example/', 'headers': {'A-Key': '(hidden)'}}}";

    TestApi.Reply rejected =
        api.request(method, path)
            .as(TestApi.ADMIN_KEY)
            .json(body.replace("T", target).replace("'", "\""))
            .send()
            .expect(ErrorCode.HIDDEN_VALUE);

    assertThat(rejected.json().get("errors").get(0).get("pointer").asString()).isEqualTo(pointer);
    assertThat(rejected.text("detail")).contains("send the value itself");
    if (method.equals("PUT")) {
      api.get(path).send().expect(404);
    }
  }

  @Test
  void a_task_without_its_own_target_has_no_secret_to_keep() {
    put("/v1/types/own", "{\"target\": %s}".formatted(HTTP)).expect(201);
    String id = api.task("{\"type\": \"own\", \"delay\": \"1h\"}");

    api.patch("/v1/tasks/" + id)
        .json("{\"target\": %s}".formatted(SHOWN))
        .send()
        .expect(ErrorCode.HIDDEN_VALUE);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "['X-Other']     | /target/http/secretHeaders/0",
        "['X-A', 'Y']    | /target/http/secretHeaders/1",
        "7               | /target/http/secretHeaders",
        "[1]             | /target/http/secretHeaders/0",
        "{'X-A': true}   | /target/http/secretHeaders"
      })
  void only_headers_can_be_marked_as_secret(String marked, String pointer) {
    JsonNode rejected =
        api.post("/v1/tasks")
            .json(
                ("{'type': 'm', 'target': {'http': {'url': 'https://a.example/',"
                        + " 'headers': {'X-A': 'b'}, 'secretHeaders': "
                        + marked
                        + "}}}")
                    .replace("'", "\""))
            .send()
            .expect(422)
            .json();

    assertThat(rejected.get("errors").get(0).get("pointer").asString()).isEqualTo(pointer);
  }

  @Test
  void an_archive_has_no_secrets_and_a_restored_task_gets_those_of_its_type() {
    put("/v1/types/arch", "{\"target\": %s, \"onDead\": %s}".formatted(HTTP, HTTP)).expect(201);
    String same = createDead("arch", HTTP);
    String other = createDead("arch", HTTP.replace("hooks.example", "other.example"));

    List<String> lines = archive();

    assertThat(lines).hasSize(2).noneMatch(line -> line.contains(SECRET));
    assertThat(lines).allMatch(line -> line.contains("\"Authorization\":\"(hidden)\""));
    api.post("/v1/dead-letters/restore")
        .bytes("application/x-ndjson", String.join("\n", lines).getBytes(StandardCharsets.UTF_8))
        .send()
        .expect(200);
    assertThat(stored("task", "target", "id = '" + same + "'"))
        .contains("SUPERSECRET-1", "SUPERSECRET-2", "SUPERSECRET-3")
        .doesNotContain("(hidden)");
    assertThat(stored("task", "on_dead", "id = '" + same + "'")).contains("SUPERSECRET-2");
    // For another host the secrets must be sent again.
    assertThat(stored("task", "target", "id = '" + other + "'")).contains("(hidden)");
    String shown = api.get("/v1/tasks/" + other).send().json().get("target").toString();
    api.patch("/v1/tasks/" + other)
        .json("{\"target\": %s}".formatted(shown))
        .send()
        .expect(ErrorCode.HIDDEN_VALUE);
    api.patch("/v1/tasks/" + other)
        .json("{\"target\": %s}".formatted(HTTP.replace("hooks.example", "other.example")))
        .send()
        .expect(200);
  }

  private static String createDead(String type, String target) {
    String id =
        api.task(
            "{\"type\": \"%s\", \"target\": %s, \"onDead\": %s}".formatted(type, target, HTTP));
    api.world.sql(
        """
        UPDATE carillon.task
        SET state = 'DEAD', ready_at = NULL, finished_at = clock_timestamp()
        WHERE id = '%1$s';
        INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, error, failure, status, key)
        SELECT tenant, id, partition, '%2$s', clock_timestamp(), 'x', 'STATUS', 500, NULL
        FROM carillon.task
        WHERE id = '%1$s'
        """
            .formatted(id, type));
    return id;
  }

  private static List<String> archive() {
    OldDeadLetters.age(api.world);
    List<DeadLetterArchive.Letter> letters =
        api.world.store.archive().oldest(Duration.ofHours(1), 1_000, 1 << 30).letters();
    assertThat(api.world.store.archive().drop(letters, "file", "node")).isEqualTo(letters.size());
    return letters.stream().map(letter -> ArchiveLine.of(letter.task())).toList();
  }
}
