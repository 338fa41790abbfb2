package carillon.api.types;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.store.db.Json;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Status codes and payload schemas of types. */
class TypeRulesTest {

  private static final String ORDER =
      "{\"type\": \"object\", \"required\": [\"amount\"],"
          + "  \"properties\": {\"amount\": {\"type\": \"integer\", \"minimum\": 1.0}}}";

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static void type(String name, String schema) {
    TestApi.Reply reply = api.put("/v1/types/" + name).json("{\"schema\": " + schema + "}").send();
    assertThat(reply.status()).as(reply.body()).isIn(200, 201);
  }

  private static TestApi.Reply create(String type, String payload) {
    return api.post("/v1/tasks").json(task(type, payload)).send();
  }

  private static String task(String type, String payload) {
    return "{\"type\": \"%s\", \"payload\": %s, \"delay\": \"1h\"}".formatted(type, payload);
  }

  private static String tasksOf(String type) {
    return api.world.value(
        "SELECT count(*) FROM carillon.task t JOIN carillon.lane l ON l.id = t.lane WHERE l.type ="
            + " '"
            + type
            + "'");
  }

  private static JsonNode firstError(TestApi.Reply reply) {
    return reply.json().get("errors").get(0);
  }

  @Test
  void a_type_that_a_schedule_uses_cannot_be_deleted() {
    api.put("/v1/types/scheduled").json("{}").send().expect(201);
    api.put("/v1/schedules/nightly")
        .json("{\"cron\": \"30 2 * * *\", \"type\": \"scheduled\", \"target\": {\"discard\": {}}}")
        .send()
        .expect(201);

    JsonNode rejected = api.delete("/v1/types/scheduled").send().expect(409).json();

    assertThat(rejected.get("code").asString()).isEqualTo("type_in_use");
    assertThat(rejected.get("detail").asString()).startsWith("schedule nightly creates tasks of");
    api.delete("/v1/schedules/nightly").send().expect(204);
    api.delete("/v1/types/scheduled").send().expect(204);
  }

  @Test
  void status_codes_are_returned_as_they_were_set() {
    api.put("/v1/types/rules")
        .json(
            "{\"successCodes\": [404, \"3xx\"], \"retryCodes\": [\"400-403\"], \"deadCodes\":"
                + " [410]}")
        .send()
        .expect(201);

    JsonNode shown = api.get("/v1/types/rules").send().expect(200).json();
    assertThat(shown.get("successCodes").toString()).isEqualTo("[404,\"3xx\"]");
    assertThat(shown.get("retryCodes").toString()).isEqualTo("[\"400-403\"]");
    assertThat(shown.get("deadCodes").toString()).isEqualTo("[410]");

    api.put("/v1/types/rules").json("{\"retryCodes\": []}").send().expect(200);
    assertThat(api.get("/v1/types/rules").send().json().get("successCodes")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "successCodes": [99]                             | invalid_value    | /successCodes/0
          "successCodes": [600]                            | invalid_value    | /successCodes/0
          "successCodes": [200, 999]                       | invalid_value    | /successCodes/1
          "successCodes": [200.0]                          | invalid_value    | /successCodes/0
          "successCodes": [-200]                           | invalid_value    | /successCodes/0
          "retryCodes": ["6xx"]                            | invalid_value    | /retryCodes/0
          "retryCodes": ["503-500"]                        | invalid_value    | /retryCodes/0
          "retryCodes": ["503"]                            | invalid_value    | /retryCodes/0
          "deadCodes": [null]                              | invalid_value    | /deadCodes/0
          "deadCodes": [[500]]                             | invalid_value    | /deadCodes/0
          "deadCodes": "5xx"                               | invalid_type     | /deadCodes
          "deadCodes": {"5xx": true}                       | invalid_type     | /deadCodes
          "successCodes": [503], "retryCodes": ["5xx"]     | exclusive_fields | /retryCodes
          "retryCodes": ["500-503"], "deadCodes": [503]    | exclusive_fields | /deadCodes
          "successCodes": ["2xx"], "deadCodes": [204]      | exclusive_fields | /deadCodes
          """)
  void invalid_status_codes_are_rejected(String field, String code, String pointer) {
    TestApi.Reply reply = api.put("/v1/types/rejected").json("{" + field + "}").send().expect(422);

    assertThat(reply.text("code")).isEqualTo(code);
    assertThat(firstError(reply).get("pointer").asString()).isEqualTo(pointer);
    api.get("/v1/types/rejected").send().expect(404);
  }

  @Test
  void a_list_of_status_codes_has_at_most_fifty_entries() {
    String fifty = "[" + "200,".repeat(49) + "200]";
    api.put("/v1/types/fifty").json("{\"successCodes\": " + fifty + "}").send().expect(201);

    String more = "[" + "200,".repeat(50) + "200]";
    api.put("/v1/types/fifty")
        .json("{\"successCodes\": " + more + "}")
        .send()
        .expect(ErrorCode.TOO_LONG);
  }

  @Test
  void a_schema_is_returned_byte_for_byte_and_removed_when_omitted() {
    type("shown", ORDER);

    assertThat(api.get("/v1/types/shown").send().expect(200).body())
        .contains("\"schema\":" + ORDER);
    assertThat(api.get("/v1/types").send().expect(200).body()).doesNotContain("\"schema\"");
    create("shown", "{}").expect(ErrorCode.SCHEMA_MISMATCH);

    api.put("/v1/types/shown").json("{}").send().expect(200);
    assertThat(api.get("/v1/types/shown").send().json().get("schema").isNull()).isTrue();
    create("shown", "{}").expect(202);
  }

  @Test
  void an_invalid_schema_is_rejected_with_a_pointer() {
    TestApi.Reply reply =
        api.put("/v1/types/invalid")
            .json("{\"schema\": {\"properties\": {\"a\": {\"type\": \"strin\"}}}}")
            .send()
            .expect(ErrorCode.INVALID_SCHEMA);

    assertThat(firstError(reply).get("pointer").asString()).isEqualTo("/schema/properties/a/type");
    api.get("/v1/types/invalid").send().expect(404);
    api.put("/v1/types/invalid")
        .json("{\"schema\": {\"$ref\": \"http://127.0.0.1:1/\"}}")
        .send()
        .expect(ErrorCode.REMOTE_REF);
    api.put("/v1/types/invalid")
        .json("{\"schema\": {\"description\": \"" + "x".repeat(64 << 10) + "\"}}")
        .send()
        .expect(ErrorCode.TOO_LONG);
    api.put("/v1/types/invalid")
        .json("{\"schema\": " + "{\"not\":".repeat(70) + "{}" + "}".repeat(70) + "}")
        .send()
        .expect(ErrorCode.TOO_DEEP);
  }

  @Test
  void schema_is_a_special_field_at_the_top_level_only() {
    JsonNode task =
        api.post("/v1/tasks")
            .json("{\"type\": \"plain\", \"delay\": \"1h\", \"metadata\": {\"schema\": \"v1\"}}")
            .send()
            .expect(202)
            .json();

    assertThat(task.at("/metadata/schema").asString()).isEqualTo("v1");
  }

  @Test
  void a_payload_that_does_not_match_is_rejected_and_nothing_is_stored() {
    type("order", ORDER);

    TestApi.Reply reply = create("order", "{\"amount\": \"7\"}").expect(ErrorCode.SCHEMA_MISMATCH);

    assertThat(firstError(reply).get("pointer").asString()).isEqualTo("/payload/amount");
    assertThat(firstError(reply).get("message").asString())
        .isEqualTo("string found, integer expected");
    api.post("/v1/tasks").json("{\"type\": \"order\"}").send().expect(ErrorCode.SCHEMA_MISMATCH);
    api.post("/v1/tasks")
        .header("Idempotency-Key", "misfit")
        .json(task("order", "{}"))
        .send()
        .expect(ErrorCode.SCHEMA_MISMATCH);
    assertThat(tasksOf("order")).isEqualTo("0");

    create("order", "{\"amount\": 7}").expect(202);
    assertThat(tasksOf("order")).isEqualTo("1");
  }

  @Test
  void a_batch_with_an_invalid_payload_points_to_it_and_stores_nothing() {
    type("many", ORDER);
    String good = task("many", "{\"amount\": 1}");
    String bad = task("many", "{\"amount\": 0}");

    TestApi.Reply asJson =
        api.post("/v1/tasks/batch")
            .json("{\"tasks\": [" + good + "," + bad + "," + good + "]}")
            .send()
            .expect(ErrorCode.SCHEMA_MISMATCH);
    TestApi.Reply asLines =
        api.post("/v1/tasks/batch")
            .header("Idempotency-Key", "lines")
            .bytes(
                "application/x-ndjson", (good + "\n" + bad + "\n").getBytes(StandardCharsets.UTF_8))
            .send()
            .expect(ErrorCode.SCHEMA_MISMATCH);

    assertThat(firstError(asJson).get("pointer").asString()).isEqualTo("/tasks/1/payload/amount");
    assertThat(firstError(asLines).get("pointer").asString()).isEqualTo("/tasks/1/payload/amount");
    assertThat(tasksOf("many")).isEqualTo("0");
    api.post("/v1/tasks/batch").json("{\"tasks\": [" + good + "]}").send().expect(202);
  }

  @Test
  void an_edited_payload_is_validated_and_other_edits_are_not() {
    String id = create("edited", "{\"old\": true}").expect(202).text("id");
    type("edited", ORDER);

    TestApi.Reply rejected =
        api.patch("/v1/tasks/" + id)
            .json("{\"payload\": {\"amount\": 0}, \"priority\": 9}")
            .send()
            .expect(ErrorCode.SCHEMA_MISMATCH);

    assertThat(firstError(rejected).get("pointer").asString()).isEqualTo("/payload/amount");
    JsonNode after = api.get("/v1/tasks/" + id).send().json();
    assertThat(after.get("priority").asInt()).isEqualTo(5);
    assertThat(after.get("version").asInt()).isEqualTo(1);
    assertThat(after.get("payload").toString()).isEqualTo("{\"old\":true}");
    api.patch("/v1/tasks/" + id).json("{\"priority\": 9}").send().expect(200);
    api.patch("/v1/tasks/" + id).json("{\"payload\": {\"amount\": 3}}").send().expect(200);
  }

  @Test
  void a_dead_task_that_no_longer_matches_must_be_edited_before_a_redrive() {
    String id = createDead("redriven", "{\"sum\": 7}");
    type("redriven", ORDER);

    TestApi.Reply rejected =
        api.post("/v1/tasks/" + id + "/redrive").send().expect(ErrorCode.SCHEMA_MISMATCH);

    assertThat(rejected.text("detail"))
        .startsWith(
            "the payload no longer matches the schema of its type; edit it first: /payload");
    assertThat(api.get("/v1/tasks/" + id).send().text("status")).isEqualTo("DEAD");
    assertThat(
            api.world.value("SELECT count(*) FROM carillon.dead_letter WHERE task = '" + id + "'"))
        .isEqualTo("1");
    api.patch("/v1/tasks/" + id)
        .json(
            "{\"payload\": {\"amount\": 7}, \"target\": {\"discard\": {}}, \"retry\":"
                + " {\"maxAttempts\": 2}}")
        .send()
        .expect(200);
    JsonNode redriven = api.post("/v1/tasks/" + id + "/redrive").send().expect(200).json();
    assertThat(redriven.get("status").asString()).isEqualTo("PENDING");
    assertThat(redriven.get("target").toString()).isEqualTo("{\"discard\":{}}");
    assertThat(redriven.get("maxAttempts").asInt()).isEqualTo(2);
    assertThat(
            Json.MAPPER.readTree(
                api.world.value(
                    "SELECT detail->'fields' FROM carillon.audit WHERE action = 'task.edit'"
                        + " AND subject = '"
                        + id
                        + "'")))
        .isEqualTo(Json.MAPPER.readTree("[\"payload\", \"retry\", \"target\"]"));
  }

  /** A dead task of a pull worker. */
  private static String createDead(String type, String payload) {
    String id = api.task("{\"type\": \"%s\", \"payload\": %s}".formatted(type, payload));
    JsonNode claimed =
        api.post("/v1/work/claim")
            .json("{\"types\": [\"" + type + "\"], \"wait\": \"10s\", \"worker\": \"w\"}")
            .send()
            .expect(200)
            .json()
            .get("tasks")
            .get(0);
    api.post("/v1/work/report")
        .json(
            "{\"results\": [{\"id\": \"%s\", \"token\": \"%s\", \"outcome\": \"dead\", \"error\": \"no\"}]}"
                .formatted(id, claimed.get("token").asString()))
        .send()
        .expect(200);
    return id;
  }

  @Test
  void a_repeated_request_gets_the_first_response_although_the_schema_has_changed() {
    String body = task("repeated", "{}");
    TestApi.Reply first =
        api.post("/v1/tasks").header("Idempotency-Key", "r-1").json(body).send().expect(202);
    type("repeated", ORDER);

    TestApi.Reply again =
        api.post("/v1/tasks").header("Idempotency-Key", "r-1").json(body).send().expect(202);

    assertThat(again.text("id")).isEqualTo(first.text("id"));
  }

  @Test
  void a_repeated_batch_gets_the_first_response_although_the_schema_has_changed() {
    String body = "{\"tasks\": [" + task("batched", "{}") + "]}";
    TestApi.Reply first =
        api.post("/v1/tasks/batch").header("Idempotency-Key", "b-1").json(body).send().expect(202);
    type("batched", ORDER);

    TestApi.Reply again =
        api.post("/v1/tasks/batch").header("Idempotency-Key", "b-1").json(body).send().expect(202);

    assertThat(again.body()).isEqualTo(first.body());
    api.post("/v1/tasks/batch")
        .header("Idempotency-Key", "b-2")
        .json(body)
        .send()
        .expect(ErrorCode.SCHEMA_MISMATCH);
    assertThat(tasksOf("batched")).isEqualTo("1");
  }

  @Test
  void a_deleted_and_recreated_type_uses_its_new_schema() {
    type("again", "{\"type\": \"string\"}");
    create("again", "1").expect(ErrorCode.SCHEMA_MISMATCH);
    api.delete("/v1/types/again").send().expect(204);

    type("again", "{\"type\": \"integer\"}");

    create("again", "1").expect(202);
    create("again", "\"a\"").expect(ErrorCode.SCHEMA_MISMATCH);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "target": null                                     | /target
          "target": {}                                       | /target
          "target": {"http": {"url": "http://127.0.0.1/"}}   | /target/http/url
          "target": {"http": {"url": "ftp://example.com/"}}  | /target/http/url
          "target": {"pull": {}, "discard": {}}              | /target
          "retry": {"maxAttempts": 0}                        | /retry/maxAttempts
          "retry": {"base": "2h", "max": "1h"}               | /retry/base
          """)
  void an_invalid_edit_is_rejected_and_changes_nothing(String field, String pointer) {
    String id = create("steady", "{}").expect(202).text("id");

    TestApi.Reply reply =
        api.patch("/v1/tasks/" + id).json("{" + field + ", \"key\": \"new\"}").send().expect(422);

    assertThat(firstError(reply).get("pointer").asString()).isEqualTo(pointer);
    assertThat(api.get("/v1/tasks/" + id).send().json().get("version").asInt()).isEqualTo(1);
  }
}
