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

/** A lone surrogate has no UTF-8 encoding: a text with one would be stored as another text. */
class LoneSurrogateTest {

  private static final String LONE = "\\ud800";

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
          PUT  | /v1/tenants/x          | {'publish':['kafka/a/LONE']}                    | /publish/0
          POST | /v1/keys               | {'name':'LONE','role':'viewer'}                 | /name
          POST | /v1/keys               | {'name':'n','role':'producer','types':['LONE']} | /types/0
          POST | /v1/work/claim         | {'types':['t','LONE']}                          | /types/1
          POST | /v1/work/claim         | {'types':['t'],'worker':'LONE'}                 | /worker
          POST | /v1/tasks              | {'type':'t','key':'LONE'}                       | /key
          POST | /v1/tasks              | {'type':'t','metadata':{'n':'LONE'}}            | /metadata/n
          POST | /v1/tasks              | {'type':'t',HTTP'headers':{'a':'LONE'}}}}       | /target/http/headers/a
          POST | /v1/tasks              | {'type':'t',HTTP'body':'LONE'}}}                | /target/http/body
          POST | /v1/tasks/cancel       | {'key':'LONE'}                                  | /key
          POST | /v1/dead-letters/purge | {'error':'LONE'}                                | /error
          POST | /v1/dead-letters/purge | {'ids':['LONE']}                                | /ids/0
          PUT  | /v1/types/t            | {'successCodes':['LONE']}                       | /successCodes/0
          PUT  | /v1/schedules/s        | {'every':'1h','type':'t','key':'LONE'}          | /key
          """)
  void a_lone_surrogate_is_rejected_in_every_stored_text(
      String method, String path, String body, String pointer) {
    TestApi.Reply reply =
        api.request(method, path)
            .as(TestApi.ADMIN_KEY)
            .json(
                body.replace("HTTP", "'target':{'http':{'url':'https://a.example/',")
                    .replace('\'', '"')
                    .replace("LONE", LONE))
            .send();

    assertThat(reply.status()).as(reply.body()).isIn(400, 422);
    assertThat(reply.json().get("errors").get(0).get("pointer").asString()).startsWith(pointer);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/v1/tasks?key=%ED%A0%80", // a surrogate encoded like a character
        "/v1/tasks?key=%ff",
        "/v1/tasks?metadata.%C0%AF=x", // a slash encoded with two bytes
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
        "{\"type\":\"t\",\"metadata\":{\"LONE\":\"v\"}}",
        "{\"type\":\"t\",\"payload\":{\"LONE\":1}}",
        "{\"type\":\"t\",\"LONE\":1}"
      })
  void a_lone_surrogate_is_rejected_in_field_names(String body) {
    api.post("/v1/tasks").json(body.replace("LONE", LONE)).send().expect(ErrorCode.INVALID_JSON);
  }

  /**
   * A payload is stored byte for byte and never decoded, so it can have any value that JSON can
   * express. A cast to jsonb in a user's own SQL may fail for such a payload: see
   * docs/intentional.md.
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
      long start = System.nanoTime();
      TestApi.Reply reply =
          api.post("/v1/tasks").json("{\"type\":\"huge\",\"payload\":" + number + "}").send();

      assertThat(reply.status()).as(number + " " + reply.body()).isIn(202, 422);
      assertThat(System.nanoTime() - start).as(number).isLessThan(5_000_000_000L);
    }
  }
}
