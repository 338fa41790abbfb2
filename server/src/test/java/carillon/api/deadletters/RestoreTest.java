package carillon.api.deadletters;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.store.db.Json;
import carillon.store.deadletters.DeadLetterArchive;
import carillon.testkit.OldDeadLetters;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/** Restoring archived dead letters over HTTP. */
class RestoreTest {

  private static final String RESTORE = "/v1/dead-letters/restore";
  private static final Duration TTL = Duration.ofHours(1);

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  @BeforeEach
  void empty() {
    for (String table : List.of("task", "attempt", "transition", "dead_letter", "audit")) {
      api.world.sql("DELETE FROM carillon." + table);
    }
  }

  /** A task with every field set, dead after two attempts. */
  private String createDead(String payload) {
    String id =
        api.task(
            """
            {"type": "t", "key": "käy 1", "priority": 7, "payload": %s, "concurrencyKey": "c", "ttl": "1h",
             "metadata": {"a": "1", "ü": "two"}, "target": {"pull": {}},
             "retry": {"maxAttempts": 2, "backoff": "fixed", "base": "1ms", "max": "1ms", "jitter": "none"}}
            """
                .formatted(payload));
    report(
        "failed", ",\"error\":\"first\\nline\",\"output\":{\"half\": 1.50},\"progress\":\"50%\"");
    report("failed", ",\"error\":\"again \\u2028 \\\"so\\\"\",\"output\":\"last\"");
    assertThat(show(id).get("status").asString()).isEqualTo("DEAD");
    return id;
  }

  private void report(String outcome, String more) {
    JsonNode task =
        api.post("/v1/work/claim")
            .json("{\"types\":[\"t\"],\"wait\":\"10s\",\"worker\":\"w\"}")
            .send()
            .expect(200)
            .json()
            .get("tasks")
            .get(0);
    api.post("/v1/work/report")
        .json(
            "{\"results\":[{\"id\":\"%s\",\"token\":\"%s\",\"outcome\":\"%s\"%s}]}"
                .formatted(task.get("id").asString(), task.get("token").asString(), outcome, more))
        .send()
        .expect(200);
  }

  private JsonNode show(String id) {
    return api.get("/v1/tasks/" + id).send().expect(200).json();
  }

  private String payload(String id) {
    return api.world.value("SELECT payload FROM carillon.task WHERE id = '" + id + "'");
  }

  /** Archives all dead letters, and returns their lines. */
  private List<String> archive() {
    OldDeadLetters.age(api.world);
    List<DeadLetterArchive.Letter> letters =
        api.world.store.archive().oldest(TTL, 1_000, 1 << 30).letters();
    assertThat(api.world.store.archive().drop(letters, "file", "node")).isEqualTo(letters.size());
    return letters.stream().map(letter -> ArchiveLine.of(letter.task())).toList();
  }

  private TestApi.Request restoring(String lines) {
    return api.post(RESTORE).bytes("application/x-ndjson", lines.getBytes(StandardCharsets.UTF_8));
  }

  private TestApi.Reply restore(List<String> lines) {
    return restoring(String.join("\n", lines)).send();
  }

  private String everything(String id) {
    return api.world.value(
        """
        SELECT row_to_json(t)::text || (SELECT json_agg(a ORDER BY fence) FROM carillon.attempt a WHERE task = t.id)
               || (SELECT json_agg(w ORDER BY at, fence) FROM carillon.transition w WHERE task = t.id)
        FROM carillon.task t
        WHERE id = '%s'
        """
            .formatted(id));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"n\": 1.0, \"e\": 1e400, \"s\": \"\\u00fc \\/\"}",
        "{\n  \"over\": [1,\r\n 2]\n}",
        "null",
        "\"text\""
      })
  void a_task_is_restored_byte_for_byte_after_its_partition_was_dropped(String payload) {
    String id = createDead(payload);
    api.world.sql(
        "UPDATE carillon.task SET crashes = 2, request = '{\"method\": \"POST\"}', schedule ="
            + " 'nightly', fire_at = '2027-03-28T01:00:00.123456Z', on_complete = '{\"http\":"
            + " {\"url\": \"https://example.com/c\", \"method\": \"POST\"}}', on_dead = '{\"http\":"
            + " {\"url\": \"https://example.com/d\", \"method\": \"PUT\"}}'");
    api.world.sql("UPDATE carillon.attempt SET request = '{\"method\": \"GET\"}'");
    JsonNode story = show(id);
    String row = everything(id);

    List<String> lines = archive();
    api.get("/v1/tasks/" + id).send().expect(404);
    assertThat(api.world.partitions.dropBefore(Partition.of(Instant.now()).next())).isPositive();
    TestApi.Reply reply = restore(lines).expect(200);

    assertThat(reply.body()).isEqualTo("{\"restored\":1,\"present\":0}");
    assertThat(show(id)).isEqualTo(story);
    assertThat(everything(id)).isEqualTo(row);
    assertThat(payload(id)).isEqualTo(payload);
    assertThat(lines.getFirst()).doesNotContain("\n", "\r");
  }

  @Test
  void a_line_has_the_fields_of_the_api_without_computed_ones_and_nulls() {
    String id = createDead("{}");
    JsonNode story = show(id);

    JsonNode line = Json.MAPPER.readTree(archive().getFirst());

    Set<String> added = fields(line);
    added.removeAll(fields(story));
    assertThat(added).containsExactly("format", "slice");
    Set<String> omitted = fields(story);
    omitted.removeAll(fields(line));
    assertThat(omitted).containsExactly("maxAttempts");
    assertThat(line.get("attempts")).hasSize(1);
    omitted = fields(story.at("/attempts/1"));
    omitted.removeAll(fields(line.at("/attempts/0")));
    assertThat(omitted).containsExactly("duration");
    assertThat(line.get("transitions")).hasSize(story.get("transitions").size() - 1);
  }

  /** The names of the fields that are not null, in alphabetical order. */
  private static Set<String> fields(JsonNode node) {
    Set<String> fields = new TreeSet<>();
    node.forEachEntry(
        (name, value) -> {
          if (!value.isNull()) {
            fields.add(name);
          }
        });
    return fields;
  }

  @Test
  void the_status_of_an_attempt_without_error_is_restored() {
    String id = createDead("{}");
    api.world.sql("UPDATE carillon.attempt SET status = 204, failure = NULL, error = NULL");
    String row = everything(id);

    restore(archive()).expect(200);

    assertThat(everything(id)).isEqualTo(row);
  }

  @Test
  void a_task_with_only_required_fields_is_restored() {
    String id = api.task("{\"type\": \"t\", \"retry\": {\"maxAttempts\": 1}}");
    report("dead", "");
    JsonNode story = show(id);

    restore(archive()).expect(200);

    assertThat(show(id)).isEqualTo(story);
    assertThat(payload(id)).isEqualTo("null"); // SQL NULL
    assertThat(api.world.value("SELECT count(*) FROM carillon.task WHERE payload IS NULL"))
        .isEqualTo("1");
  }

  @Test
  void a_restored_task_is_a_dead_letter_with_a_fresh_time_to_live() {
    String id = createDead("{}");

    restore(archive()).expect(200);

    assertThat(api.world.store.archive().oldest(Duration.ofMinutes(1), 10, 1 << 20).letters())
        .isEmpty();
    JsonNode letters = api.get("/v1/dead-letters?type=t").send().expect(200).json().get("items");
    assertThat(letters.get(0).get("id").asString()).isEqualTo(id);
    api.post("/v1/tasks/" + id + "/redrive").send().expect(200);
    report("completed", "");
    assertThat(show(id).get("status").asString()).isEqualTo("COMPLETED");
    assertThat(show(id).get("attempts")).hasSize(3);
  }

  /** Replaces the id in a line with that of a task that was due this many days ago. */
  private static String daysBefore(String line, String id, int days) {
    TaskId then = TaskId.at(Instant.now().minus(Duration.ofDays(days)), new Random(days));
    return line.replace(id, then.toString());
  }

  @Test
  void an_archive_of_too_many_days_is_rejected_before_anything_is_created() {
    String id = createDead("{}");
    String line = archive().getFirst();
    api.world.sql("UPDATE carillon.partition SET restored = false"); // other tests restore days too
    int partitions = count("partition");
    List<String> manyDays =
        IntStream.rangeClosed(1, 101).mapToObj(n -> daysBefore(line, id, n)).toList();

    TestApi.Reply rejected = restore(manyDays).expect(422);

    assertThat(rejected.json().get("code").asString()).isEqualTo("too_many");
    assertThat(rejected.json().get("detail").asString())
        .contains("101 days", "100 such days", "fewer days at a time");
    assertThat(count("partition")).isEqualTo(partitions);
    assertThat(count("task")).isZero();

    restore(manyDays.subList(0, 3)).expect(200);
    assertThat(count("partition")).isEqualTo(partitions + 3);
    restore(manyDays.subList(3, 101)).expect(422); // 98 more than the 3 that exist
    assertThat(count("partition")).isEqualTo(partitions + 3);
    restore(manyDays.subList(1, 4)).expect(200);
    assertThat(count("task")).isEqualTo(4);
  }

  private static int count(String table) {
    return Integer.parseInt(api.world.value("SELECT count(*) FROM carillon." + table));
  }

  @Test
  void repeated_lines_restore_each_task_once() {
    createDead("{}");
    String line = archive().getFirst();

    assertThat(restore(List.of(line, line, "", "  ")).expect(200).body())
        .isEqualTo("{\"restored\":1,\"present\":1}");
    assertThat(restore(List.of(line)).expect(200).body())
        .isEqualTo("{\"restored\":0,\"present\":1}");
    assertThat(api.world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("1");
    assertThat(
            api.world.value(
                "SELECT string_agg(detail::text, ' ' ORDER BY id) FROM carillon.audit"
                    + " WHERE action = 'dead-letter.restore'"))
        .isEqualTo("{\"present\": 1, \"restored\": 1} {\"present\": 1, \"restored\": 0}");
  }

  @Test
  void a_deleted_type_is_created_again() {
    String id = createDead("{}");
    List<String> lines = archive();
    api.delete("/v1/types/t").send().expect(204);

    restore(lines).expect(200);

    assertThat(show(id).get("type").asString()).isEqualTo("t");
    api.get("/v1/types/t").send().expect(200);
  }

  @Test
  void a_repeated_restore_gets_the_first_response_whatever_changed_since() {
    createDead("{}");
    String lines = String.join("\n", archive());
    String tenant = "{\"maxTypes\": %d}";
    String first =
        restoring(lines).header("Idempotency-Key", "restore-1").send().expect(200).body();
    archive();
    api.delete("/v1/types/t").send().expect(204);
    api.put("/v1/types/other").json("{}").send().expect(201);
    api.put("/v1/tenants/default").json(tenant.formatted(1)).send().expect(200);
    try {
      restoring(lines).send().expect(ErrorCode.LIMIT_REACHED);

      TestApi.Reply repeat = restoring(lines).header("Idempotency-Key", "restore-1").send();

      assertThat(repeat.expect(200).body()).isEqualTo(first);
      assertThat(repeat.header("Idempotency-Replayed")).isEqualTo("true");
      restoring(lines + "\n" + lines)
          .header("Idempotency-Key", "restore-1")
          .send()
          .expect(ErrorCode.IDEMPOTENCY_MISMATCH);
      api.get("/v1/types/t").send().expect(404);
      assertThat(count("task")).isZero();
    } finally {
      api.put("/v1/tenants/default").json(tenant.formatted(1_000)).send().expect(200);
    }
  }

  @Test
  void only_an_admin_can_restore_and_only_lines_of_the_named_tenant() {
    createDead("{}");
    List<String> lines = archive();
    String body = String.join("\n", lines);
    for (String role : List.of("owner", "operator", "producer", "worker", "viewer")) {
      api.request("POST", RESTORE)
          .as(api.key("other", role))
          .bytes("application/x-ndjson", body.getBytes(StandardCharsets.UTF_8))
          .send()
          .expect(ErrorCode.MISSING_SCOPE);
    }

    TestApi.Reply other = restoring(body).header("Carillon-Tenant", "other").send();
    other.expect(ErrorCode.INVALID_VALUE);
    assertThat(other.body()).contains("/lines/0/tenant", "default", "other", "Carillon-Tenant");
    restoring(body).header("Carillon-Tenant", "nobody").send().expect(ErrorCode.NOT_FOUND);
    assertThat(api.world.value("SELECT count(*) FROM carillon.task")).isEqualTo("0");
  }

  /** Changes of one field of a valid line; the value is JSON. */
  static Stream<Arguments> badLines() {
    return Stream.of(
        bad("/format", "2", ErrorCode.INVALID_VALUE),
        bad("/format", "null", ErrorCode.REQUIRED_FIELD),
        bad("/format", "1.5", ErrorCode.OUT_OF_RANGE),
        bad("/tenant", "null", ErrorCode.REQUIRED_FIELD),
        bad("/tenant", "\"other\"", ErrorCode.INVALID_VALUE),
        bad("/tenant", "7", ErrorCode.INVALID_TYPE),
        bad("/status", "\"PENDING\"", ErrorCode.INVALID_VALUE),
        bad("/status", "null", ErrorCode.REQUIRED_FIELD),
        bad("/id", "null", ErrorCode.REQUIRED_FIELD),
        bad("/id", "\"x\"", ErrorCode.INVALID_ID),
        bad("/id", "\"5f3b2c1a-0000-4000-8000-000000000000\"", ErrorCode.INVALID_ID),
        bad("/id", "\"00000000-0000-7000-8000-000000000000\"", ErrorCode.OUT_OF_RANGE),
        bad("/id", "\"0b000000-0000-7000-8000-000000000000\"", ErrorCode.OUT_OF_RANGE),
        bad("/type", "\"a b\"", ErrorCode.INVALID_VALUE),
        bad("/type", "null", ErrorCode.REQUIRED_FIELD),
        bad("/priority", "10", ErrorCode.OUT_OF_RANGE),
        bad("/slice", "64", ErrorCode.OUT_OF_RANGE),
        bad("/slice", "-1", ErrorCode.OUT_OF_RANGE),
        bad("/fence", "2147483647", ErrorCode.OUT_OF_RANGE),
        bad("/fence", "-1", ErrorCode.OUT_OF_RANGE),
        bad("/version", "0", ErrorCode.OUT_OF_RANGE),
        bad("/version", "99999999999999999999", ErrorCode.OUT_OF_RANGE),
        bad("/attempt", "\"1\"", ErrorCode.INVALID_TYPE),
        bad("/crashes", "40000", ErrorCode.OUT_OF_RANGE),
        bad("/dueAt", "\"tomorrow\"", ErrorCode.INVALID_TIME),
        bad("/dueAt", "\"2999-01-01T00:00:00Z\"", ErrorCode.BEYOND_HORIZON),
        bad("/dueAt", "null", ErrorCode.REQUIRED_FIELD),
        bad("/createdAt", "\"2026-01-01T00:00:00\"", ErrorCode.ZONE_REQUIRED),
        bad("/finishedAt", "\"10000-01-01T00:00:00Z\"", ErrorCode.TIME_OUT_OF_RANGE),
        bad(
            "/finishedAt",
            "null",
            ErrorCode.REQUIRED_FIELD), // a redrive moves it to the last attempt
        bad("/key", "\"" + "k".repeat(201) + "\"", ErrorCode.TOO_LONG),
        bad("/key", "\"a\\u0000b\"", ErrorCode.NUL_NOT_ALLOWED),
        bad("/key", "\"\\ud800\"", ErrorCode.INVALID_VALUE),
        bad("/output", "\"a\\u0000b\"", ErrorCode.NUL_NOT_ALLOWED),
        bad("/output", "{}", ErrorCode.INVALID_TYPE),
        bad("/output", "\"" + "x".repeat(70_000) + "\"", ErrorCode.OUTPUT_TOO_LARGE),
        bad("/payload", "\"" + "x".repeat(300_000) + "\"", ErrorCode.PAYLOAD_TOO_LARGE),
        bad("/payload", "\"\\u0000\"", ErrorCode.NUL_NOT_ALLOWED),
        bad("/payloadText", "\"{}\"", ErrorCode.EXCLUSIVE_FIELDS),
        bad("/request", "\"GET /\"", ErrorCode.INVALID_VALUE),
        bad("/attempts/0/request", "\"1}\"", ErrorCode.INVALID_VALUE),
        bad("/error", "\"x\"", ErrorCode.INVALID_TYPE),
        bad("/error/kind", "\"bad luck\"", ErrorCode.INVALID_VALUE),
        bad("/error/status", "100000", ErrorCode.OUT_OF_RANGE),
        bad("/error/message", "\"" + "x".repeat(70_000) + "\"", ErrorCode.TOO_LONG),
        bad("/error/more", "1", ErrorCode.UNKNOWN_FIELD),
        bad("/retry", "{\"maxAttempts\": 0}", ErrorCode.OUT_OF_RANGE),
        bad("/metadata", "{\"a\": 1}", ErrorCode.INVALID_TYPE),
        bad("/target", "{}", ErrorCode.EXCLUSIVE_FIELDS),
        bad(
            "/target",
            "{\"http\": {\"url\": \"http://127.0.0.1/\"}}",
            ErrorCode.ADDRESS_NOT_ALLOWED),
        bad("/target", "{\"http\": {\"url\": \"file:///etc/passwd\"}}", ErrorCode.SCHEME_OR_HOST),
        bad(
            "/onDead",
            "{\"http\": {\"url\": \"http://10.0.0.1/\"}}",
            ErrorCode.ADDRESS_NOT_ALLOWED),
        bad("/onDead", "{\"pull\": {}}", ErrorCode.INVALID_VALUE),
        bad("/onComplete", "[]", ErrorCode.INVALID_TYPE),
        bad("/cancelRequested", "\"yes\"", ErrorCode.INVALID_TYPE),
        bad("/lane", "1", ErrorCode.UNKNOWN_FIELD),
        bad("/attempts", "{}", ErrorCode.INVALID_TYPE),
        bad("/attempts", "[1]", ErrorCode.INVALID_TYPE),
        bad("/attempts/0/outcome", "\"LOST\"", ErrorCode.INVALID_VALUE),
        bad("/attempts/0/endedAt", "null", ErrorCode.REQUIRED_FIELD),
        bad("/attempts/0/fence", "1e3", ErrorCode.OUT_OF_RANGE),
        bad("/attempts/0/status", "1000", ErrorCode.OUT_OF_RANGE),
        bad("/attempts/0/output", "[]", ErrorCode.INVALID_TYPE),
        bad("/attempts/0/partition", "1", ErrorCode.UNKNOWN_FIELD),
        bad("/transitions/0/to", "\"DONE\"", ErrorCode.INVALID_VALUE),
        bad("/transitions/0/to", "\"COMPLETED\"", ErrorCode.INVALID_VALUE),
        bad("/transitions/0/by", "null", ErrorCode.REQUIRED_FIELD),
        bad("/transitions/0/by", "\"a\\nb\"", ErrorCode.INVALID_VALUE),
        bad("/transitions/0/at", "null", ErrorCode.REQUIRED_FIELD));
  }

  private static Arguments bad(String pointer, String value, ErrorCode expected) {
    return Arguments.of(pointer, value, expected);
  }

  @ParameterizedTest
  @MethodSource("badLines")
  void an_invalid_line_rejects_the_whole_request(String pointer, String value, ErrorCode expected) {
    String good = line("00000000-0001");
    ObjectNode invalid = (ObjectNode) Json.MAPPER.readTree(line("00000000-0002"));
    int slash = pointer.lastIndexOf('/');
    ObjectNode parent = (ObjectNode) invalid.at(pointer.substring(0, slash));
    parent.putRawValue(pointer.substring(slash + 1), new RawValue(value));

    TestApi.Reply reply = restore(List.of(good, Json.MAPPER.writeValueAsString(invalid)));

    reply.expect(expected);
    assertThat(reply.body()).contains("/lines/1");
    assertThat(api.world.value("SELECT count(*) FROM carillon.task")).isEqualTo("0");
    assertThat(api.world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("0");
    restore(List.of(good)).expect(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"{", "[]", "1", "{} {}", "{\"format\": 1, \"format\": 1}"})
  void a_line_that_is_not_an_object_is_rejected_with_its_number(String line) {
    TestApi.Reply reply = restore(List.of(line("00000000-0001"), line));

    assertThat(reply.status()).isEqualTo(400);
    assertThat(reply.body()).contains("/lines/1");
    assertThat(api.world.value("SELECT count(*) FROM carillon.task")).isEqualTo("0");
  }

  @Test
  void a_payload_text_must_be_exactly_one_json_value() {
    ObjectNode line = (ObjectNode) Json.MAPPER.readTree(line("00000000-0001"));
    line.remove("payload");
    for (String text : List.of("", " 1", "1 ", "1, \"x\": 2", "{", "{}}", "[\"\\u0000\"]")) {
      line.put("payloadText", text);
      restore(List.of(line.toString())).expect(ErrorCode.INVALID_VALUE);
    }
    line.put("payloadText", "{\n}");
    restore(List.of(line.toString())).expect(200);
  }

  @Test
  void a_missing_or_too_large_body_is_rejected() {
    api.post(RESTORE).send().expect(ErrorCode.BODY_REQUIRED);
    restoring("\n\n").send().expect(ErrorCode.BODY_REQUIRED);
    api.post(RESTORE).json("{}").send().expect(ErrorCode.UNSUPPORTED_MEDIA_TYPE);
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < Limits.RESTORE_TASKS + 1; i++) {
      lines.append(line("%08d-0001".formatted(i))).append('\n');
    }
    restoring(lines.toString()).send().expect(ErrorCode.BATCH_TOO_LARGE);
    assertThat(api.world.value("SELECT count(*) FROM carillon.task")).isEqualTo("0");
  }

  /** Returns a valid line. */
  private static String line(String end) {
    String hex = "%012x".formatted(Instant.parse("2026-03-01T10:00:00Z").toEpochMilli());
    String id = hex.substring(0, 8) + "-" + hex.substring(8) + "-7000-8000-" + end.replace("-", "");
    ObjectNode node =
        (ObjectNode)
            Json.MAPPER.readTree(
                """
                {"format": 1, "tenant": "default", "type": "t", "status": "DEAD", "priority": 5, "slice": 0,
                 "dueAt": "2026-03-01T10:00:00Z", "createdAt": "2026-03-01T10:00:00.123456Z",
                 "finishedAt": "2026-03-01T10:00:05Z", "attempt": 2, "fence": 2,
                 "version": 5, "error": {"kind": "timeout", "message": "slow"}, "payload": {"a": 1},
                 "attempts": [{"attempt": 1, "fence": 1, "endedAt": "2026-03-01T10:00:01Z", "outcome": "RETRIED"}],
                 "transitions": [{"at": "2026-03-01T10:00:00Z", "from": "PENDING", "to": "RUNNING", "fence": 1,
                                  "by": "n"}]}
                """);
    node.put("id", id);
    return node.toString();
  }
}
