package carillon.api.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.store.db.Json;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Callbacks of tasks and types, and alerts of tenants, as they are set and shown. */
class CallbackApiTest {

  private static final String DONE = "{\"http\": {\"url\": \"https://example.com/done\"}}";
  private static final String DIED =
      "{\"http\": {\"url\": \"https://example.com/died\", \"method\": \"PUT\"}}";

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  @Test
  void a_task_reads_back_with_its_callbacks() {
    String id =
        api.task("{\"type\": \"t\", \"onComplete\": %s, \"onDead\": %s}".formatted(DONE, DIED));

    JsonNode task = api.get("/v1/tasks/" + id).send().expect(200).json();

    assertThat(task.at("/onComplete/http/url").asString()).isEqualTo("https://example.com/done");
    assertThat(task.at("/onDead/http/method").asString()).isEqualTo("PUT");
  }

  @Test
  void a_task_without_callbacks_shows_none() {
    String id = api.task("{\"type\": \"t\", \"onDead\": null}");

    JsonNode task = api.get("/v1/tasks/" + id).send().expect(200).json();

    assertThat(task.get("onComplete").isNull()).isTrue();
    assertThat(task.get("onDead").isNull()).isTrue();
  }

  @Test
  void a_type_keeps_its_callbacks_until_they_are_removed() {
    api.put("/v1/types/with-callbacks")
        .json("{\"onComplete\": %s, \"onDead\": %s}".formatted(DONE, DIED))
        .send()
        .expect(201);
    JsonNode type = api.get("/v1/types/with-callbacks").send().expect(200).json();
    api.put("/v1/types/with-callbacks").json("{}").send().expect(200);
    JsonNode plain = api.get("/v1/types/with-callbacks").send().expect(200).json();

    assertThat(type.at("/onComplete/http/url").asString()).isEqualTo("https://example.com/done");
    assertThat(type.at("/onDead/http/url").asString()).isEqualTo("https://example.com/died");
    assertThat(plain.get("onComplete").isNull()).isTrue();
    assertThat(plain.get("onDead").isNull()).isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"pull\": {}}                                  | /onDead          | invalid_value",
        "{\"discard\": {}}                               | /onDead          | invalid_value",
        "{\"kafka\": {}}                                 | /onDead          | invalid_value",
        "{}                                              | /onDead          | exclusive_fields",
        "\"https://example.com/\"                        | /onDead          | invalid_type",
        "{\"http\": {}}                                  | /onDead/http/url | required_field",
        "{\"http\": {\"url\": \"http://10.0.0.1/\"}}     | /onDead/http/url | address_not_allowed",
        "{\"http\": {\"url\": \"https://example.com/\", \"x\": 1}} | /onDead/http/x |"
            + " unknown_field",
      })
  void a_callback_target_is_validated(String target, String pointer, String code) {
    for (TestApi.Request request :
        new TestApi.Request[] {
          api.post("/v1/tasks").json("{\"type\": \"bad\", \"onDead\": " + target + "}"),
          api.put("/v1/types/bad").json("{\"onDead\": " + target + "}")
        }) {
      JsonNode problem = request.send().json();

      assertThat(problem.get("status").asInt()).as(problem.toString()).isBetween(400, 422);
      assertThat(problem.at("/errors/0/pointer").asString())
          .as(problem.toString())
          .isEqualTo(pointer);
      assertThat(problem.at("/errors/0/code").asString()).as(problem.toString()).isEqualTo(code);
    }
    api.get("/v1/types/bad").send().expect(404);
  }

  @Test
  void a_callback_has_no_callbacks() {
    for (String type : new String[] {"carillon.callback", "carillon.alert"}) {
      api.post("/v1/tasks")
          .json("{\"type\": \"%s\", \"onDead\": %s}".formatted(type, DIED))
          .send()
          .expect(422);
      api.put("/v1/types/" + type).json("{\"onComplete\": %s}".formatted(DONE)).send().expect(422);
    }
  }

  @Test
  void a_tenant_can_have_its_own_alert_the_default_or_none() {
    TestApi.Reply own =
        api.put("/v1/tenants/alerted")
            .json(
                "{\"alert\": {\"target\": %s, \"deaths\": 3, \"within\": \"90s\"}}".formatted(DONE))
            .send()
            .expect(200);
    JsonNode shown = api.get("/v1/tenants/alerted").send().expect(200).json();
    JsonNode off =
        api.put("/v1/tenants/alerted").json("{\"alert\": null}").send().expect(200).json();
    JsonNode byDefault = api.put("/v1/tenants/alerted").json("{}").send().expect(200).json();

    assertThat(own.json().get("alert"))
        .isEqualTo(
            Json.MAPPER.readTree(
                """
                {"target": {"http": {"url": "https://example.com/done", "method": "POST"}},
                 "deaths": 3, "within": "PT1M30S"}
                """));
    assertThat(shown).isEqualTo(own.json());
    assertThat(off.get("alert").isNull()).isTrue();
    assertThat(byDefault.has("alert")).isFalse();
  }

  @Test
  void an_alert_defaults_to_ten_deaths_in_five_minutes() {
    JsonNode alert =
        api.put("/v1/tenants/default-alert")
            .json("{\"alert\": {\"target\": %s}}".formatted(DONE))
            .send()
            .expect(200)
            .json()
            .get("alert");

    assertThat(alert.get("deaths").asInt()).isEqualTo(10);
    assertThat(alert.get("within").asString()).isEqualTo("PT5M");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{}                                           | /alert/target  | required_field",
        "{\"target\": {\"pull\": {}}}                 | /alert/target  | invalid_value",
        "{\"target\": TARGET, \"deaths\": 0}          | /alert/deaths  | out_of_range",
        "{\"target\": TARGET, \"deaths\": 10001}      | /alert/deaths  | out_of_range",
        "{\"target\": TARGET, \"within\": \"soon\"}   | /alert/within  | invalid_duration",
        "{\"target\": TARGET, \"within\": \"8d\"}     | /alert/within  | out_of_range",
        "{\"target\": TARGET, \"dead\": 1}            | /alert/dead    | unknown_field",
        "{\"target\": {\"http\": {\"url\": \"http://127.0.0.1/\"}}} | /alert/target/http/url |"
            + " address_not_allowed",
        "7                                            | /alert         | invalid_type",
      })
  void an_invalid_alert_is_rejected(String alert, String pointer, String code) {
    JsonNode problem =
        api.put("/v1/tenants/wrong")
            .json("{\"alert\": " + alert.replace("TARGET", DONE) + "}")
            .send()
            .json();

    assertThat(problem.at("/errors/0/pointer").asString())
        .as(problem.toString())
        .isEqualTo(pointer);
    assertThat(problem.at("/errors/0/code").asString()).as(problem.toString()).isEqualTo(code);
    api.get("/v1/tenants/wrong").send().expect(404);
  }
}
