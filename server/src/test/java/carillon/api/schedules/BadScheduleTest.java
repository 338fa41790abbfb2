package carillon.api.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Invalid schedules are rejected over HTTP with the field and a reason. */
class BadScheduleTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
    api.put("/v1/types/strict-shape")
        .json("{\"schema\": {\"type\": \"object\", \"required\": [\"id\"]}}")
        .send()
        .expect(201);
  }

  @AfterAll
  static void nothing_was_stored() {
    String schedules = api.world.value("SELECT count(*) FROM carillon.schedule");
    String fires = api.world.value("SELECT count(*) FROM carillon.schedule_fire");
    api.close();
    assertThat(List.of(schedules, fires)).containsOnly("0");
  }

  /** Fields that schedules and previews share. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'startAt':'2026-02-30T00:00:00Z' | INVALID_TIME | /startAt | RFC 3339",
        "'startAt':'tomorrow' | INVALID_TIME | /startAt | RFC 3339",
        "'startAt':1767225600 | INVALID_TIME | /startAt | RFC 3339",
        "'endAt':'2999-01-01T00:00:00' | ZONE_REQUIRED | /endAt | offset",
        "'endAt':'+294277-01-01T00:00:00Z' | TIME_OUT_OF_RANGE | /endAt | 1 to 9999",
        "'endAt':'+1000000000-01-01T00:00:00Z' | TIME_OUT_OF_RANGE | /endAt | 1 to 9999",
        "'startAt':'0000-01-01T00:00:00Z' | TIME_OUT_OF_RANGE | /startAt | 1 to 9999",
        "'startAt':'-4713-01-01T00:00:00Z' | TIME_OUT_OF_RANGE | /startAt | 1 to 9999",
        "'startAt':'2998-01-01T00:00:00Z','endAt':'2998-01-01T00:00:00Z' | OUT_OF_RANGE | /endAt |"
            + " after startAt",
        "'startAt':'2999-01-01T00:00:00Z','endAt':'2998-01-01T00:00:00Z' | OUT_OF_RANGE | /endAt |"
            + " after startAt",
        "'timezone':'Mars/Phobos' | UNKNOWN_ZONE | /timezone | IANA",
        "'timezone':'+25:00' | UNKNOWN_ZONE | /timezone | offsets such as +02:00",
        "'timezone':'+02:00' | UNKNOWN_ZONE | /timezone | offsets such as +02:00",
        "'timezone':'EST' | UNKNOWN_ZONE | /timezone | abbreviations such as EST",
        "'timezone':'../../etc/passwd' | UNKNOWN_ZONE | /timezone | IANA",
        "'timezone':'' | UNKNOWN_ZONE | /timezone | IANA",
        "'timezone':'Europe/Berln' | UNKNOWN_ZONE | /timezone | did you mean Europe/Berlin?",
        "'timezone':'europe/berlin' | UNKNOWN_ZONE | /timezone | did you mean Europe/Berlin?",
        "'timezone':'Tokyo' | UNKNOWN_ZONE | /timezone | did you mean Asia/Tokyo?",
        "'timezone':1 | INVALID_TYPE | /timezone | a string",
        "'dst':{'gap':'both'} | INVALID_VALUE | /dst/gap | skip, shift",
        "'dst':{'overlap':'none'} | INVALID_VALUE | /dst/overlap | first, last, both",
        "'dst':{'fold':'first'} | UNKNOWN_FIELD | /dst/fold | unknown field",
        "'dst':'shift' | INVALID_TYPE | /dst | an object",
      })
  void an_invalid_time_or_zone_is_rejected(
      String fields, ErrorCode code, String pointer, String message) {
    assertRejected(put("{'type':'t','every':'1h'," + fields + "}"), code, pointer, message);
    assertRejected(preview("{'every':'1h'," + fields + "}"), code, pointer, message);
  }

  /** Cron expressions, in schedules and in previews. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "* * * *                   | CRON_FIELD_COUNT | 5 fields",
        "* * * * * * *             | CRON_FIELD_COUNT | 5 fields",
        "* * * * * * * *           | CRON_FIELD_COUNT | 5 fields",
        "*\\t* * * *               | CRON_FIELD_COUNT | spaces",
        "* * * * *\\n              | CRON_FIELD_COUNT | spaces",
        "60 * * * *                | INVALID_CRON | minute (0-59)",
        "* 24 * * *                | INVALID_CRON | hour (0-23)",
        "* * 32 * *                | INVALID_CRON | day of month (1-31)",
        "* * 0 * *                 | INVALID_CRON | day of month (1-31)",
        "* * * 13 *                | INVALID_CRON | month (1-12 or JAN-DEC)",
        "* * * * 8                 | INVALID_CRON | 0 and 7 are Sunday",
        "*/0 * * * *               | INVALID_CRON | minute",
        "5-1 * * * *               | INVALID_CRON | backwards",
        "1-2-3 * * * *             | INVALID_CRON | minute",
        "1/2/3 * * * *             | INVALID_CRON | two steps",
        ", * * * *                 | INVALID_CRON | empty",
        "1,,2 * * * *              | INVALID_CRON | empty",
        "*-5 * * * *               | INVALID_CRON | minute",
        "-1 * * * *                | INVALID_CRON | minute",
        "-- * * * *                | INVALID_CRON | minute",
        "? * * * *                 | INVALID_CRON | ? is allowed in day fields only",
        "0 0 31 2 *                | NEVER_FIRES | never fire",
        "0 0 30 2 *                | NEVER_FIRES | never fire",
        "0 0 31 4,6,9,11 *         | NEVER_FIRES | never fire",
        "@reboot                   | INVALID_CRON | @hourly",
        "@every 500ms              | INTERVAL_TOO_SHORT | the minimum is 1s",
        "@every                    | INVALID_CRON | @every 90s",
        "H(60-70) * * * *          | INVALID_CRON | minute",
        "``                        | CRON_FIELD_COUNT | 5 fields",
      })
  void an_invalid_cron_expression_is_rejected(String cron, ErrorCode code, String message) {
    String field = "'name':'n','cron':'" + cron + "'";

    assertRejected(put("{'type':'t','cron':'" + cron + "'}"), code, "/cron", message);
    assertRejected(preview("{" + field + "}"), code, "/cron", message);
  }

  @Test
  void a_long_expression_and_one_that_never_fires_are_rejected() {
    assertRejected(
        put("{'type':'t','cron':'" + "* ".repeat(2_500) + "'}"),
        ErrorCode.TOO_LONG,
        "/cron",
        "256 characters");
    put("{'type':'t','cron':'0 0 30 2 *'}").expect(ErrorCode.NEVER_FIRES);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'type':'t'} | REQUIRED_FIELD | /cron | unless there is every",
        "{'type':'t','cron':null} | REQUIRED_FIELD | /cron | unless there is every",
        "{'every':'1h'} | REQUIRED_FIELD | /type | is required",
        "{'type':'t','cron':'* * * * *','every':'1h'} | EXCLUSIVE_FIELDS | /every | with cron",
        "{'type':'t','cron':5} | INVALID_TYPE | /cron | a string",
        "{'type':'t','every':60} | INVALID_TYPE | /every | a string",
        "{'type':'t','every':'soon'} | INVALID_DURATION | /every | such as",
        "{'type':'t','every':'-5s'} | INVALID_DURATION | /every | such as",
        "{'type':'t','every':'0s'} | INTERVAL_TOO_SHORT | /every | PT1S",
        "{'type':'t','every':'999ms'} | INTERVAL_TOO_SHORT | /every | PT1S",
        "{'type':'t','every':'367d'} | OUT_OF_RANGE | /every | PT8784H",
        "{'type':'t','every':'1h','endAt':'2020-01-01T00:00:00Z'} | OUT_OF_RANGE | /endAt | future",
        "{'type':'t','cron':'0 0 1 1 *','startAt':'2998-01-02T00:00:00Z','endAt':"
            + "'2998-12-31T00:00:00Z'} | NEVER_FIRES | /endAt | from startAt to endAt",
        "{'type':'t','cron':'30 2 * * *','timezone':'Europe/Berlin','dst':{'gap':'skip'},'startAt':"
            + "'2037-03-29T00:00:00Z','endAt':'2037-03-29T12:00:00Z'} | NEVER_FIRES | /endAt |"
            + " from startAt to endAt",
        "{'type':'t','every':'1h','overlap':'replace'} | INVALID_VALUE | /overlap | cancelPrevious",
        "{'type':'t','every':'1h','overlap':'cancel_previous'} | INVALID_VALUE | /overlap |"
            + " cancelPrevious",
        "{'type':'t','every':'1h','overlap':1} | INVALID_TYPE | /overlap | a string",
        "{'type':'t','every':'1h','catchUp':'some'} | INVALID_VALUE | /catchUp | none, last, all",
        "{'type':'t','every':'1h','catchUpLimit':0} | OUT_OF_RANGE | /catchUpLimit | 1 to 1000",
        "{'type':'t','every':'1h','catchUpLimit':1001} | OUT_OF_RANGE | /catchUpLimit | 1 to 1000",
        "{'type':'t','every':'1h','catchUpWindow':-1} | INVALID_TYPE | /catchUpWindow | a string",
        "{'type':'t','every':'1h','catchUpWindow':'-1s'} | INVALID_DURATION | /catchUpWindow |"
            + " such as",
        "{'type':'t','every':'1h','catchUpWindow':'0s'} | OUT_OF_RANGE | /catchUpWindow | PT1M",
        "{'type':'t','every':'1h','catchUpWindow':'36500d'} | OUT_OF_RANGE | /catchUpWindow |"
            + " PT8784H",
        "{'type':'t','every':'1h','jitter':'25h'} | OUT_OF_RANGE | /jitter | PT24H",
        "{'type':'t','every':'1h','jitter':'-1s'} | INVALID_DURATION | /jitter | such as",
        "{'type':'t','every':'1h','maxRuns':0} | OUT_OF_RANGE | /maxRuns | from 1",
        "{'type':'t','every':'1h','maxRuns':2147483648} | OUT_OF_RANGE | /maxRuns | from 1",
        "{'type':'t','every':'1h','maxRuns':1.5} | OUT_OF_RANGE | /maxRuns | whole number",
        "{'type':'t','every':'1h','maxRuns':'3'} | INVALID_TYPE | /maxRuns | a whole number",
        "{'type':'t','every':'1h','pauseAfterFailures':0} | OUT_OF_RANGE | /pauseAfterFailures |"
            + " 1 to 1000",
        "{'type':'t','every':'1h','pauseAfterFailures':1001} | OUT_OF_RANGE | /pauseAfterFailures |"
            + " 1 to 1000",
        "{'type':'t','every':'1h','paused':'yes'} | INVALID_TYPE | /paused | true or false",
        "{'type':'t','every':'1h','priority':10} | OUT_OF_RANGE | /priority | 0 to 9",
        "{'type':'t','every':'1h','key':'a\\u0007'} | INVALID_VALUE | /key | control",
        "{'type':'a b','every':'1h'} | INVALID_VALUE | /type | must match",
        "{'type':'carillon.alert','every':'1h'} | INVALID_VALUE | /type | reserved for Carillon",
        "{'type':'t','every':'1h','target':{}} | EXCLUSIVE_FIELDS | /target | exactly one",
        "{'type':'t','every':'1h','target':{'kafka':{'topic':'t'}}} | TARGET_NOT_ALLOWED |"
            + " /target/kafka/cluster | none is registered",
        "{'type':'t','every':'1h','target':{'http':{'url':'http://169.254.169.254/'}}} |"
            + " ADDRESS_NOT_ALLOWED | /target/http/url | 169.254",
        "{'type':'t','every':'1h','retry':{'maxAttempts':0}} | OUT_OF_RANGE | /retry/maxAttempts |"
            + " 1 to 100",
        "{'type':'strict-shape','every':'1h','payload':{'no':1}} | SCHEMA_MISMATCH | /payload | id",
        "{'type':'t','every':'1h','timezoen':'UTC'} | UNKNOWN_FIELD | /timezoen | timezone",
        "{'type':'t','every':'1h','metadata':{}} | UNKNOWN_FIELD | /metadata | unknown field",
        "{'type':'t','every':'1h','name':'n'} | READ_ONLY_FIELD | /name | read-only",
        "{'type':'t','every':'1h','nextRuns':[]} | READ_ONLY_FIELD | /nextRuns | read-only",
      })
  void an_invalid_field_is_rejected(String json, ErrorCode code, String pointer, String message) {
    assertRejected(put(json), code, pointer, message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'cron':'* * * * *','count':1000000} | TOO_MANY | /count | from 1 to 100",
        "{'cron':'* * * * *','count':101} | TOO_MANY | /count | from 1 to 100",
        "{'cron':'* * * * *','count':2147483648} | TOO_MANY | /count | from 1 to 100",
        "{'cron':'* * * * *','count':99999999999999999999} | TOO_MANY | /count | from 1 to 100",
        "{'cron':'* * * * *','count':0} | OUT_OF_RANGE | /count | from 1 to 100",
        "{'cron':'* * * * *','count':-1} | OUT_OF_RANGE | /count | from 1 to 100",
        "{'cron':'* * * * *','count':1.5} | OUT_OF_RANGE | /count | from 1 to 100",
        "{'cron':'* * * * *','count':'5'} | INVALID_TYPE | /count | a whole number",
        "{'cron':'* * * * *','from':'yesterday'} | INVALID_TIME | /from | RFC 3339",
        "{'cron':'H H * * *'} | REQUIRED_FIELD | /name | a hash of",
        "{'cron':'* * * * *','name':'a b'} | INVALID_VALUE | /name | A-Z a-z 0-9",
        "{'cron':'* * * * *','name':'-a'} | INVALID_VALUE | /name | not begin with -",
        "{'cron':'* * * * *','name':'..'} | INVALID_VALUE | /name | not . or ..",
        "{'cron':'* * * * *','type':'t'} | UNKNOWN_FIELD | /type | unknown field",
        "{} | REQUIRED_FIELD | /cron | unless there is every",
      })
  void an_invalid_preview_is_rejected(String json, ErrorCode code, String pointer, String message) {
    assertRejected(preview(json), code, pointer, message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "PUT    | /v1/schedules/a%20b            | {'type':'t','every':'1h'} | INVALID_ID",
        "PUT    | /v1/schedules/%27%20OR%201=1-- | {'type':'t','every':'1h'} | INVALID_ID",
        "PUT    | /v1/schedules/..%2f..%2fetc    | {'type':'t','every':'1h'} | INVALID_ID",
        "PUT    | /v1/schedules/-n               | {'type':'t','every':'1h'} | INVALID_ID",
        "PUT    | /v1/schedules/--help           | {'type':'t','every':'1h'} | INVALID_ID",
        "PUT    | /v1/schedules/                 | {'type':'t','every':'1h'} | INVALID_ID",
        "PUT    | /v1/schedules/preview          | {'type':'t','every':'1h'} | METHOD_NOT_ALLOWED",
        "PUT    | /v1/schedules/n                | []                        | OBJECT_EXPECTED",
        "PUT    | /v1/schedules/n                | ``                        | BODY_REQUIRED",
        "POST   | /v1/schedules/n/pause          | {}                        | NOT_FOUND",
        "POST   | /v1/schedules/n/pause          | {'why':'x'}               | UNKNOWN_FIELD",
        "POST   | /v1/schedules/n/pause          | {'reason':1}              | INVALID_TYPE",
        "POST   | /v1/schedules/n/resume         | {}                        | NOT_FOUND",
        "POST   | /v1/schedules/n/resume         | {'reason':'x'}            | UNKNOWN_FIELD",
        "POST   | /v1/schedules/n/trigger        | {}                        | NOT_FOUND",
        "POST   | /v1/schedules/n/trigger        | {'key':'k'}               | UNKNOWN_FIELD",
        "POST   | /v1/schedules/a%20b/trigger    | {}                        | INVALID_ID",
      })
  void an_invalid_call_is_rejected(String method, String path, String json, ErrorCode code) {
    api.request(method, path)
        .as(TestApi.ADMIN_KEY)
        .json(json == null ? "" : json.replace('\'', '"'))
        .send()
        .expect(code);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v1/schedules/no-such                    | NOT_FOUND",
        "/v1/schedules/no-such/fires              | NOT_FOUND",
        "/v1/schedules?limit=0                    | OUT_OF_RANGE",
        "/v1/schedules?cursor=zzz                 | INVALID_CURSOR",
        "/v1/schedules?view=all                   | INVALID_VALUE",
        "/v1/schedules?type=t                     | UNSUPPORTED_FILTER",
        "/v1/schedules/n/fires?outcome=done       | INVALID_VALUE",
        "/v1/schedules/n/fires?from=yesterday     | INVALID_TIME",
        "/v1/schedules/n/fires?to=2026-01-01T00:00:00 | ZONE_REQUIRED",
        "/v1/schedules/n/fires?cursor=AAAA        | INVALID_CURSOR",
        "/v1/schedules/n/fires?status=DEAD        | UNSUPPORTED_FILTER",
        "/v1/schedules/%3Cscript%3E               | INVALID_ID",
      })
  void an_invalid_url_is_rejected(String path, ErrorCode code) {
    assertThat(api.get(path).send().expect(code).body()).doesNotContain("<script>");
  }

  @ParameterizedTest
  @ValueSource(strings = {".", "..", "%2e", "%2E%2e"})
  void a_dot_segment_is_not_a_name(String name) {
    TestApi.Reply reply =
        api.put("/v1/schedules/" + name).json("{\"type\":\"t\",\"every\":\"1h\"}").send();

    assertThat(reply.expect(ErrorCode.INVALID_ID).body()).contains("not . or ..");
  }

  private static TestApi.Reply put(String json) {
    return api.put("/v1/schedules/n").json(json.replace('\'', '"')).send();
  }

  private static TestApi.Reply preview(String json) {
    return api.post("/v1/schedules/preview").json(json.replace('\'', '"')).send();
  }

  private static void assertRejected(
      TestApi.Reply reply, ErrorCode code, String pointer, String message) {
    JsonNode errors = reply.expect(code).json().get("errors");
    assertThat(errors).as(reply.body()).hasSize(1);
    assertThat(errors.get(0).get("pointer").asString()).isEqualTo(pointer);
    assertThat(errors.get(0).get("code").asString()).isEqualTo(code.code());
    assertThat(errors.get(0).get("message").asString()).contains(message);
  }
}
