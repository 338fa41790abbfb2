package carillon.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Audit entries have the old and new values of changes, without secrets. */
class AuditDetailTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static JsonNode newest(String action, String subject) {
    return api.get("/v1/audit?action=" + action + "&subject=" + subject)
        .send()
        .expect(200)
        .json()
        .get("items")
        .get(0)
        .get("detail");
  }

  private static TestApi.Reply put(String path, String body) {
    return api.put(path).json(body.replace('\'', '"')).send();
  }

  @Test
  void a_type_entry_has_old_and_new_settings_without_secrets() {
    put(
            "/v1/types/a",
            "{'priority':3,'signingSecret':'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',"
                + "'target':{'http':{'url':'https://a.example/x?token=s3cret','headers':{"
                + "'Authorization':'Bearer s3cret','x-plain':'shown'}}}}")
        .expect(201);

    JsonNode created = newest("type.put", "a").get("new");
    assertThat(created.get("priority").asInt()).isEqualTo(3);
    assertThat(created.get("signingSecret").asString()).isEqualTo("(hidden)");
    assertThat(created.get("target").toString())
        .contains("\"Authorization\":\"(hidden)\"", "\"x-plain\":\"shown\"")
        .doesNotContain("s3cret");

    put("/v1/types/a", "{'priority':4,'signingSecret':'whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'}")
        .expect(200);

    JsonNode changed = newest("type.put", "a");
    assertThat(changed.get("old").propertyNames())
        .containsExactlyInAnyOrder("priority", "signingSecret", "target");
    assertThat(changed.get("old").get("priority").asInt()).isEqualTo(3);
    assertThat(changed.get("new").get("priority").asInt()).isEqualTo(4);
    assertThat(changed.get("new").get("target").toString()).isEqualTo("{\"pull\":{}}");
    assertThat(changed.toString()).doesNotContain("s3cret", "whsec", "MfKQ", "AfKQ");
    api.delete("/v1/types/a").send().expect(204);
    assertThat(newest("type.delete", "a").get("old").get("priority").asInt()).isEqualTo(4);
  }

  @Test
  void a_changed_secret_is_recorded_without_its_value() {
    String type =
        "{'target':{'http':{'url':'https://a.example/x','headers':{'Authorization':'%s'}}}}";
    put("/v1/types/h", type.formatted("Bearer s3cret")).expect(201);

    put("/v1/types/h", type.formatted("Bearer n3wer")).expect(200);
    JsonNode changed = newest("type.put", "h");
    put("/v1/types/h", type.formatted("(hidden)")).expect(200);

    assertThat(changed.get("old").get("target").asString()).isEqualTo("(hidden), another");
    assertThat(changed.toString()).doesNotContain("s3cret", "n3wer");
    assertThat(newest("type.put", "h").get("old")).isEmpty();
  }

  @Test
  void a_schedule_entry_has_the_changed_fields_and_a_hash_of_the_payload() {
    put("/v1/schedules/s", "{'every':'1h','type':'t','payload':{'ssn':'078-05-1120'}}").expect(201);
    JsonNode created = newest("schedule.put", "s").get("new");
    assertThat(created.get("every").asString()).isEqualTo("PT1H");
    assertThat(created.get("payload").asString()).matches("21 characters, sha256 [0-9a-f]{16}");

    put("/v1/schedules/s", "{'every':'2h','type':'t','payload':{'ssn':'078-05-1121'}}").expect(200);

    JsonNode changed = newest("schedule.put", "s");
    assertThat(changed.get("old").propertyNames()).containsExactlyInAnyOrder("every", "payload");
    assertThat(changed.get("new").get("every").asString()).isEqualTo("PT2H");
    assertThat(changed.toString()).doesNotContain("078-05");
    api.delete("/v1/schedules/s").send().expect(204);
    assertThat(newest("schedule.delete", "s").get("old").get("every").asString()).isEqualTo("PT2H");
  }

  @Test
  void a_tenant_entry_has_old_and_new_settings() {
    put("/v1/tenants/acme", "{'weight':3}").expect(200);
    put(
            "/v1/tenants/acme",
            "{'strict':true,'maxTypes':7,'alert':{'target':{'http':{"
                + "'url':'https://a.example/','headers':{'api-key':'s3cret'}}}}}")
        .expect(200);

    JsonNode entries =
        api.get("/v1/audit?action=tenant.put")
            .header("Carillon-Tenant", "acme")
            .send()
            .json()
            .get("items");
    JsonNode changed = entries.get(0).get("detail");
    assertThat(changed.get("old").propertyNames())
        .containsExactlyInAnyOrder("alert", "maxTypes", "strict", "weight");
    assertThat(changed.get("old").get("weight").asInt()).isEqualTo(3);
    assertThat(changed.get("new").get("maxTypes").asInt()).isEqualTo(7);
    assertThat(changed.toString()).doesNotContain("s3cret").contains("\"api-key\":\"(hidden)\"");
    assertThat(entries.get(1).get("detail").get("new").get("weight").asInt()).isEqualTo(3);
  }

  @Test
  void a_key_entry_has_role_types_and_expiry_without_the_key() {
    TestApi.Reply created =
        api.post("/v1/keys")
            .json(
                "{\"name\":\"n\",\"role\":\"worker\",\"types\":[\"a\",\"b\"],"
                    + "\"expiresAt\":\"2100-01-01T00:00:00Z\"}")
            .send()
            .expect(201);

    assertThat(newest("key.create", created.text("id")).toString())
        .isEqualTo(
            "{\"new\":{\"name\":\"n\",\"role\":\"worker\",\"types\":[\"a\",\"b\"],"
                + "\"expiresAt\":\"2100-01-01T00:00:00.000Z\"}}");
    api.delete("/v1/keys/" + created.text("id")).send().expect(204);
    assertThat(newest("key.revoke", created.text("id")).get("old").get("role").asString())
        .isEqualTo("worker");
  }

  @Test
  void a_task_edit_entry_has_old_and_new_fields() {
    String id = api.task("{\"type\":\"t\",\"delay\":\"1h\",\"key\":\"k1\",\"payload\":\"p1\"}");
    api.patch("/v1/tasks/" + id)
        .json("{\"key\":\"k2\",\"priority\":9,\"payload\":\"p2\"}")
        .send()
        .expect(200);

    JsonNode detail = newest("task.edit", id);
    assertThat(detail.get("fields").toString()).isEqualTo("[\"priority\",\"payload\",\"key\"]");
    assertThat(detail.get("old").get("priority").asInt()).isEqualTo(5);
    assertThat(detail.get("new").get("priority").asInt()).isEqualTo(9);
    assertThat(detail.get("old").get("key").asString()).isEqualTo("k1");
    assertThat(detail.get("old").get("payload")).isNotEqualTo(detail.get("new").get("payload"));
    assertThat(detail.toString()).doesNotContain("p1", "p2");
  }

  @Test
  void a_bulk_change_entry_has_its_filter() {
    api.post("/v1/tasks/cancel").json("{\"type\":\"bulk\",\"key\":\"k\"}").send().expect(200);
    api.post("/v1/tasks/run")
        .json("{\"type\":\"bulk\",\"metadata\":{\"a\":\"b\"}}")
        .send()
        .expect(200);

    assertThat(newest("task.cancel", "matching").get("filter").toString())
        .isEqualTo("{\"key\":\"k\",\"type\":\"bulk\"}");
    assertThat(newest("task.run", "matching").get("filter").toString())
        .isEqualTo("{\"type\":\"bulk\",\"metadata\":{\"a\":\"b\"}}");
  }

  @Test
  void the_size_of_a_detail_is_bounded() {
    String schema = "{'enum':['" + "x".repeat(60_000) + "']}";
    StringBuilder headers = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      headers.append(i == 0 ? "" : ",").append("'x-plain-" + i + "':'" + "y".repeat(900) + "'");
    }
    String http = "{'http':{'url':'https://a.example/','headers':{" + headers + "}}}";
    put("/v1/types/big", "{'schema':%s,'target':%s,'onDead':%s}".formatted(schema, http, http))
        .expect(201);

    JsonNode detail = newest("type.put", "big");
    assertThat(detail.toString().length()).isLessThan(9_000);
    assertThat(detail.get("tooLong").asBoolean()).isTrue();
    List<String> names = new ArrayList<>();
    detail.get("new").forEach(name -> names.add(name.asString()));
    assertThat(names).contains("schema", "target");
  }
}
