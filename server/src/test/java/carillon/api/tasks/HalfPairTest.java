package carillon.api.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Half of a surrogate pair has no UTF-8: stored as text it would come back as another text. */
class HalfPairTest {

  private static final String HALF = "\\ud800";

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          PUT  | /v1/tenants/x          | {'publish':['kafka/a/HALF']}                    | /publish/0
          POST | /v1/keys               | {'name':'HALF','role':'viewer'}                 | /name
          POST | /v1/keys               | {'name':'n','role':'producer','types':['HALF']} | /types/0
          POST | /v1/work/claim         | {'types':['t','HALF']}                          | /types/1
          POST | /v1/work/claim         | {'types':['t'],'worker':'HALF'}                 | /worker
          POST | /v1/tasks              | {'type':'t','key':'HALF'}                       | /key
          POST | /v1/tasks              | {'type':'t','metadata':{'n':'HALF'}}            | /metadata/n
          POST | /v1/tasks              | {'type':'t',HTTP'headers':{'a':'HALF'}}}}       | /target/http/headers/a
          POST | /v1/tasks              | {'type':'t',HTTP'body':'HALF'}}}                | /target/http/body
          POST | /v1/tasks/cancel       | {'key':'HALF'}                                  | /key
          POST | /v1/dead-letters/purge | {'error':'HALF'}                                | /error
          POST | /v1/dead-letters/purge | {'ids':['HALF']}                                | /ids/0
          PUT  | /v1/types/t            | {'successCodes':['HALF']}                       | /successCodes/0
          PUT  | /v1/schedules/s        | {'every':'1h','type':'t','key':'HALF'}          | /key
          """)
  void a_lone_surrogate_is_rejected_in_every_stored_text(
      String method, String path, String body, String pointer) {
    TestApi.Reply reply =
        api.request(method, path)
            .as(TestApi.ADMIN_KEY)
            .json(
                body.replace("HTTP", "'target':{'http':{'url':'https://a.example/',")
                    .replace('\'', '"')
                    .replace("HALF", HALF))
            .send();

    assertThat(reply.status()).as(reply.body()).isIn(400, 422);
    assertThat(reply.json().get("errors").get(0).get("pointer").asString()).startsWith(pointer);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/v1/tasks?key=%ED%A0%80", // half a pair as if it were a character
        "/v1/tasks?key=%ff",
        "/v1/tasks?metadata.%C0%AF=x", // a slash in two bytes
        "/v1/tasks?error=%E2%82",
        "/v1/schedules/%ff",
        "/v1/types/%ED%A0%80"
      })
  void a_url_that_is_not_utf8_is_rejected(String path) {
    TestApi.Reply reply = api.get(path).send().expect(400);

    assertThat(reply.body()).contains("not percent-encoded UTF-8");
  }

  @Test
  void a_url_with_the_replacement_character_is_read_unchanged() {
    api.task("{\"type\":\"u\",\"key\":\"\ufffd€\"}");

    assertThat(api.get("/v1/tasks?key=%EF%BF%BD%E2%82%AC").send().expect(200).json().get("items"))
        .hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"type\":\"t\",\"metadata\":{\"HALF\":\"v\"}}",
        "{\"type\":\"t\",\"payload\":{\"HALF\":1}}",
        "{\"type\":\"t\",\"HALF\":1}"
      })
  void a_lone_surrogate_is_rejected_in_field_names(String body) {
    api.post("/v1/tasks").json(body.replace("HALF", HALF)).send().expect(ErrorCode.INVALID_JSON);
  }

  /**
   * A payload is kept byte for byte and never read as text, so its values may be whatever JSON can
   * spell. A cast to jsonb in somebody's own SQL may refuse such a payload, as docs/intentional.md
   * says.
   */
  @ParameterizedTest
  @ValueSource(strings = {"\"\\ud800\"", "1e999999", "[-1E+99999999999999999999]"})
  void a_payload_is_stored_byte_for_byte(String payload) {
    String id = api.task("{\"type\":\"odd\",\"payload\":" + payload + "}");

    for (String path : new String[] {"/v1/tasks/" + id, "/v1/tasks?type=odd&view=full"}) {
      assertThat(api.get(path).send().expect(200).body()).contains("\"payload\":" + payload);
    }
    assertThat(
            api.post("/v1/work/claim")
                .json("{\"types\":[\"odd\"],\"wait\":\"5s\",\"max\":1}")
                .send()
                .expect(200)
                .body())
        .contains("\"payload\":" + payload);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"multipleOf\":3}",
        "{\"minimum\":5}",
        "{\"type\":\"integer\"}",
        "{\"enum\":[1,2]}",
        "{\"const\":1}",
        "{\"maxLength\":9}"
      })
  void huge_numbers_are_validated_quickly(String schema) {
    api.put("/v1/types/huge").json("{\"schema\":" + schema + "}").send().expect2xx();

    for (String number :
        new String[] {
          "1e999999",
          "-1e999999999",
          "1e99999999999",
          "1e-999999999",
          "[1e-99999999999999999999]",
          "\"\\ud800\""
        }) {
      long begun = System.nanoTime();
      TestApi.Reply reply =
          api.post("/v1/tasks").json("{\"type\":\"huge\",\"payload\":" + number + "}").send();

      assertThat(reply.status()).as(number + " " + reply.body()).isIn(202, 422);
      assertThat(System.nanoTime() - begun).as(number).isLessThan(5_000_000_000L);
    }
  }
}
