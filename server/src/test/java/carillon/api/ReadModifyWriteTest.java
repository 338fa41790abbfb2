package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.error.ErrorCode;
import carillon.store.db.Json;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/** The response of GET can be edited and sent back by PUT. */
class ReadModifyWriteTest {

  private static final String TYPE = "/v1/types/edited";
  private static final String SCHEDULE = "/v1/schedules/edited";
  private static final String TENANT = "/v1/tenants/edited";

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
    String http =
        "{\"http\":{\"url\":\"https://example.com/\",\"headers\":{\"Authorization\":\"Bearer"
            + " s3cret\"}}}";
    String secret = "whsec_" + "A".repeat(32);
    api.put(TYPE)
        .json(
            """
            {"target": %s, "signingSecret": "%s", "timeout": "5s", "schema": {"type": "object"}, "onDead": %s,
             "successCodes": [200], "retry": {"maxAttempts": 3}}
            """
                .formatted(http, secret, http))
        .send()
        .expect(201);
    api.put(SCHEDULE)
        .json("{\"type\": \"edited\", \"cron\": \"5 4 * * *\", \"payload\": {\"a\": 1.0}}")
        .send()
        .expect(201);
    api.put(TENANT).json("{\"weight\": 7, \"maxTypes\": 10, \"alert\": null}").send().expect(200);
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static ObjectNode read(String path) {
    return (ObjectNode) api.get(path).send().expect(200).json();
  }

  @ParameterizedTest
  @CsvSource({TYPE + ",priority", SCHEDULE + ",priority", TENANT + ",weight"})
  void a_response_can_be_sent_back_unchanged_or_edited(String path, String field) {
    Set<String> changing = Set.of("version", "updatedAt");
    ObjectNode before = read(path);

    api.put(path).json(api.get(path).send().body()).send().expect(200);
    assertThat(read(path).remove(changing)).isEqualTo(before.deepCopy().remove(changing));

    ObjectNode changed = read(path).put(field, 3);
    api.put(path).json(changed.toString()).send().expect(200);
    assertThat(read(path).remove(changing)).isEqualTo(changed.remove(changing));
  }

  @Test
  void a_paused_schedule_that_is_sent_back_stays_paused_with_its_reason() {
    api.post(SCHEDULE + "/pause").json("{\"reason\": \"holidays\"}").send().expect(200);
    ObjectNode before = read(SCHEDULE);

    api.put(SCHEDULE).json(api.get(SCHEDULE).send().body()).send().expect(200);

    assertThat(read(SCHEDULE)).isEqualTo(before);
    api.post(SCHEDULE + "/resume").send().expect(200);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        TYPE + " | name | \"other\"",
        TYPE + " | version | 99",
        TYPE + " | version | \"1\"",
        TYPE + " | signed | false",
        TYPE + " | pausedReason | \"mine\"",
        TYPE + " | name | {}",
        SCHEDULE + " | name | \"other\"",
        SCHEDULE + " | description | \"At noon\"",
        SCHEDULE + " | createdAt | \"2026-01-01T00:00:00.000Z\"",
        SCHEDULE + " | pausedBy | \"me\"",
        TENANT + " | name | \"other\"",
        TENANT + " | name | null",
      })
  void a_changed_read_only_field_is_rejected(String path, String field, String value) {
    ObjectNode before = read(path);
    ObjectNode changed = before.deepCopy();
    changed.putRawValue(field, new RawValue(value));

    TestApi.Reply reply = api.put(path).json(changed.toString()).send();

    reply.expect(ErrorCode.INVALID_VALUE);
    assertThat(reply.json().get("errors").get(0).get("pointer").asString()).isEqualTo("/" + field);
    assertThat(read(path)).isEqualTo(before);
  }

  @Test
  void a_read_only_field_cannot_be_set_on_a_new_resource() {
    for (String path : Set.of(TYPE, SCHEDULE, TENANT)) {
      String other = path.replace("edited", "other");
      api.put(other).json(read(path).toString()).send().expect(ErrorCode.READ_ONLY_FIELD);
      api.get(other).send().expect(404);
    }
  }

  @Test
  void an_unknown_field_is_rejected() {
    for (String path : Set.of(TYPE, SCHEDULE, TENANT)) {
      String json = Json.MAPPER.writeValueAsString(read(path).put("colour", "red"));
      api.put(path).json(json).send().expect(ErrorCode.UNKNOWN_FIELD);
    }
  }
}
