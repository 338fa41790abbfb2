package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.model.KeyText;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Invalid requests are rejected with the right code, and nothing is stored. */
class BadInputTest {

  private static final String ID = "0192f0c1-7d2a-7b3c-8d4e-5f6071829304";

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void nothing_was_stored() {
    String tasks = api.world.value("SELECT count(*) FROM carillon.task");
    api.close();
    assertThat(tasks).isEqualTo("0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "POST   | /v1/tasks                | []                                  | OBJECT_EXPECTED",
        "POST   | /v1/tasks                | {'type':'t',}                       | INVALID_JSON",
        "POST   | /v1/tasks                | {'type':'t','priorty':1}            | UNKNOWN_FIELD",
        "POST   | /v1/tasks                | {'type':'t','id':'x'}               | READ_ONLY_FIELD",
        "POST   | /v1/tasks                | {'type':'t','type':'u'}             | DUPLICATE_FIELD",
        "POST   | /v1/tasks                | {'type':'t','key':'\\u0000'}        | NUL_NOT_ALLOWED",
        "POST   | /v1/tasks                | {'type':'t','dueAt':'2999-01-01T00:00:00Z'} |"
            + " BEYOND_HORIZON",
        "POST   | /v1/tasks/batch          | {'tasks':[{'type':'t'},{'type':'t','priority':10}]} |"
            + " OUT_OF_RANGE",
        "POST   | /v1/tasks/batch          | {'tasks':[]}                        | REQUIRED_FIELD",
        "POST   | /v1/tasks/batch          | {'tasks':[7]}                       | INVALID_TYPE",
        "POST   | /v1/tasks/batch          |"
            + " {'tasks':[{'type':'t','key':'k','unique':{'for':'1h'}}]} | INVALID_VALUE",
        "POST   | /v1/tasks/cancel         | {}                                  | FILTER_REQUIRED",
        "POST   | /v1/tasks/cancel         | {'typ':'t'}                         | UNKNOWN_FIELD",
        "POST   | /v1/tasks/cancel         | {'dryRun':true}                     | FILTER_REQUIRED",
        "POST   | /v1/tasks/cancel         | {'status':'DEAD'}                   | INVALID_VALUE",
        "POST   | /v1/tasks/cancel         | {'type':'t','dryRun':'yes'}         | INVALID_TYPE",
        "POST   | /v1/tasks/run            | {}                                  | FILTER_REQUIRED",
        "POST   | /v1/tasks/run            | {'status':'RUNNING'}                | INVALID_VALUE",
        "POST   | /v1/tasks/run            | {'status':7}                        | INVALID_TYPE",
        "POST   | /v1/tasks/run            | {'type':'t','cursor':'AAAA'}        | INVALID_CURSOR",
        "POST   | /v1/tasks/cancel         | {'cursor':'AAAA'}                   | FILTER_REQUIRED",
        "POST   | /v1/tasks/run            | {'id':'x'}                          | UNKNOWN_FIELD",
        "POST   | /v1/tasks/1-1-1-1-1/cancel | {}                                | INVALID_ID",
        "POST   | /v1/tasks/ID/cancel      | {'force':true}                      | UNKNOWN_FIELD",
        "POST   | /v1/tasks/ID/cancel      | {}                                  | NOT_FOUND",
        "PATCH  | /v1/tasks/ID             | {'status':'DEAD'}                   | READ_ONLY_FIELD",
        "PATCH  | /v1/tasks/ID             | {'key':null}                        | INVALID_TYPE",
        "PATCH  | /v1/tasks/ID             | {'priority':3}                      | NOT_FOUND",
        "POST   | /v1/dead-letters/redrive | {'rate':0}                          | OUT_OF_RANGE",
        "POST   | /v1/dead-letters/redrive | {'rate':{'limit':1,'per':'1h'}}     | OUT_OF_RANGE",
        "POST   | /v1/dead-letters/redrive | {'rate':{}}                         | REQUIRED_FIELD",
        "POST   | /v1/dead-letters/redrive | {'ids':['x']}                       | INVALID_ID",
        "POST   | /v1/dead-letters/purge   | {}                                  | FILTER_REQUIRED",
        "POST   | /v1/dead-letters/redrive | {'rate':5}                          | FILTER_REQUIRED",
        "POST   | /v1/dead-letters/purge   | {'diedAfter':'x'}                   | INVALID_TIME",
        "POST   | /v1/dead-letters/purge   | {'failure':'tiredness'}             | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'group':'x'}                       | INVALID_VALUE",
        "POST   | /v1/dead-letters/redrive | {'status':'500'}                    | INVALID_TYPE",
        "POST   | /v1/dead-letters/redrive | {'status':99}                       | OUT_OF_RANGE",
        "POST   | /v1/dead-letters/redrive | {'metadata':{'a':1}}                | INVALID_TYPE",
        "POST   | /v1/dead-letters/redrive | {'dryRun':'yes','all':true}         | INVALID_TYPE",
        "POST   | /v1/dead-letters/redrive | {'dryRun':true}                     | FILTER_REQUIRED",
        "POST   | /v1/dead-letters/redrive | {'all':true,'speed':1}              | UNKNOWN_FIELD",
        "POST   | /v1/dead-letters/purge   | {'type':'t','ids':[]}               | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'ids':[]}                          | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'error':''}                        | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'type':'t','key':''}               | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'type':'t','metadata':{}}          | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'type':'t','metadata':{'':'a'}}    | TOO_LONG",
        "POST   | /v1/dead-letters/purge   | {'type':''}                         | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'failure':''}                      | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'group':''}                        | INVALID_VALUE",
        "POST   | /v1/dead-letters/purge   | {'diedBefore':''}                   | INVALID_TIME",
        "POST   | /v1/dead-letters/redrive | {'all':true,'ids':[]}               | INVALID_VALUE",
        "POST   | /v1/redrives/1-1-1-1-1/stop | {}                               | INVALID_ID",
        "POST   | /v1/redrives/ID/stop     | {}                                  | NOT_FOUND",
        "POST   | /v1/redrives/ID/undo     | {}                                  | NOT_FOUND",
        "POST   | /v1/redrives/ID/undo     | {'force':true}                      | UNKNOWN_FIELD",
        "PUT    | /v1/types/a%20b          | {}                                  | INVALID_ID",
        "PUT    | /v1/types/t              | {'timeout':'0s'}                    | OUT_OF_RANGE",
        "PUT    | /v1/types/t              | {'timeout':'24h'}                   | OUT_OF_RANGE",
        "PUT    | /v1/types/t              | {'slices':0}                        | OUT_OF_RANGE",
        "PUT    | /v1/types/t              | {'priority':10}                     | OUT_OF_RANGE",
        "PUT    | /v1/types/t              | {'leaseTimeout':'1ms'}              | OUT_OF_RANGE",
        "PUT    | /v1/types/t              | {'signingSecret':'short'}           | INVALID_VALUE",
        "PUT    | /v1/types/t              | {'version':1}                       | READ_ONLY_FIELD",
        "PUT    | /v1/types/t              | {'paused':'yes'}                    | INVALID_TYPE",
        "PUT    | /v1/types/t              | {'target':{'http':{'url':'http://169.254.169.254/'}}}"
            + " | ADDRESS_NOT_ALLOWED",
        "PUT    | /v1/types/t              | {'target':{'kafka':{'topic':'t'}}}  |"
            + " TARGET_NOT_ALLOWED",
        "POST   | /v1/types/nowhere/pause  | {}                                  | NOT_FOUND",
        "POST   | /v1/work/claim           | {}                                  | REQUIRED_FIELD",
        "POST   | /v1/work/claim           | {'types':[]}                        | REQUIRED_FIELD",
        "POST   | /v1/work/claim           | {'types':['a b']}                   | INVALID_VALUE",
        "POST   | /v1/work/claim           | {'types':['t'],'max':0}             | OUT_OF_RANGE",
        "POST   | /v1/work/claim           | {'types':['t'],'max':1000000}       | OUT_OF_RANGE",
        "POST   | /v1/work/claim           | {'types':['t'],'wait':'1h'}         | OUT_OF_RANGE",
        "POST   | /v1/work/claim           | {'types':['t'],'lease':'48h'}       | OUT_OF_RANGE",
        "POST   | /v1/work/claim           | {'types':['t'],'lease':'-5s'}       |"
            + " INVALID_DURATION",
        "POST   | /v1/work/report          | {'results':[]}                      | REQUIRED_FIELD",
        "POST   | /v1/work/report          |"
            + " {'results':[{'id':'ID','token':'x','outcome':'completed'}]} | INVALID_TOKEN",
        "POST   | /v1/work/report          |"
            + " {'results':[{'id':'1','token':'AAAAAAAAAAAAAAAAAAAAAAAAAAA','outcome':'completed'}]}"
            + " | INVALID_ID",
        "POST   | /v1/work/report          |"
            + " {'results':[{'id':'ID','token':'AAAAAAAAAAAAAAAAAAAAAAAAAAA','outcome':'done'}]} |"
            + " INVALID_VALUE",
        "POST   | /v1/work/renew           |"
            + " {'leases':[{'id':'ID','token':'AAAAAAAAAAAAAAAAAAAAAAAAAAA'}],'lease':'0s'} |"
            + " OUT_OF_RANGE",
        "POST   | /v1/keys                 | {'name':'n','role':'god'}           | INVALID_VALUE",
        "POST   | /v1/keys                 | {'role':'viewer'}                   | REQUIRED_FIELD",
        "POST   | /v1/keys                 | {'name':'n','role':'viewer','types':['t']} |"
            + " INVALID_VALUE",
        "POST   | /v1/keys                 |"
            + " {'name':'n','role':'viewer','expiresAt':'2020-01-01T00:00:00Z'} | OUT_OF_RANGE",
        "PUT    | /v1/tenants/UPPER        | {}                                  | INVALID_ID",
        "PUT    | /v1/tenants/t            | {'weight':0}                        | OUT_OF_RANGE",
        "PUT    | /v1/tenants/t            | {'rate':1}                          | UNKNOWN_FIELD",
      })
  void an_invalid_body_is_rejected_with_its_code(
      String method, String path, String json, ErrorCode code) {
    api.request(method, path.replace("ID", ID))
        .as(TestApi.ADMIN_KEY)
        .json(json.replace('\'', '"').replace("\"ID\"", "\"" + ID + "\""))
        .send()
        .expect(code);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v1/tasks?limit=0                     | OUT_OF_RANGE",
        "/v1/tasks?limit=1001                  | OUT_OF_RANGE",
        "/v1/tasks?limit=many                  | INVALID_PARAMETER",
        "/v1/tasks?limit=5&limit=6             | INVALID_PARAMETER",
        "/v1/tasks?status=RETRYING             | INVALID_VALUE",
        "/v1/tasks?sort=dueAt                  | UNSUPPORTED_FILTER",
        "/v1/tasks?offset=10                   | UNSUPPORTED_FILTER",
        "/v1/tasks?dueAfter=yesterday          | INVALID_TIME",
        "/v1/tasks?dueAfter=2026-01-01T00:00:00 | ZONE_REQUIRED",
        "/v1/tasks?type=a%20b                  | INVALID_VALUE",
        "/v1/tasks?key=%00                     | INVALID_PARAMETER",
        "/v1/tasks?view=all                    | INVALID_VALUE",
        "/v1/tasks?metadata.=a                 | INVALID_VALUE",
        "/v1/tasks?cursor=x                    | INVALID_CURSOR",
        "/v1/tasks?api_key=secret              | CREDENTIAL_IN_URL",
        "/v1/tasks?Access_Token=secret         | CREDENTIAL_IN_URL",
        "/v1/tasks?key=carillon_abc            | CREDENTIAL_IN_URL",
        "/v1/dead-letters?cursor=AAAA          | INVALID_CURSOR",
        "/v1/dead-letters?status=DEAD          | INVALID_PARAMETER",
        "/v1/dead-letters?failure=tired        | INVALID_VALUE",
        "/v1/dead-letters?group=%27            | INVALID_VALUE",
        "/v1/dead-letters?ids=1                | UNSUPPORTED_FILTER",
        "/v1/dead-letters?error=               | INVALID_VALUE",
        "/v1/dead-letters?key                  | INVALID_VALUE",
        "/v1/dead-letters?metadata.=a          | INVALID_VALUE",
        "/v1/dead-letters?type=                | INVALID_VALUE",
        "/v1/dead-letters?failure=             | INVALID_VALUE",
        "/v1/dead-letters?group=               | INVALID_VALUE",
        "/v1/dead-letters/groups?error=x       | UNSUPPORTED_FILTER",
        "/v1/dead-letters/groups?status=9      | OUT_OF_RANGE",
        "/v1/dead-letters/groups?cursor=AAAA   | INVALID_CURSOR",
        "/v1/redrives?cursor=AAAA              | INVALID_CURSOR",
        "/v1/redrives/%27                      | INVALID_ID",
        "/v1/audit?cursor=AAAA                 | INVALID_CURSOR",
        "/v1/audit?who=me                      | UNSUPPORTED_FILTER",
        "/v1/types?cursor=zzz                  | INVALID_CURSOR",
        "/v1/tenants?limit=3                   | UNSUPPORTED_FILTER",
        "/v1/tasks/1-1-1-1-1                   | INVALID_ID",
        "/v1/tasks/%27%20OR%201=1--            | INVALID_ID",
        "/v1/tasks/%3Cscript%3E                | INVALID_ID",
        "/v1/tasks/%0d%0aSet-Cookie:x          | INVALID_ID",
        "/v1/tasks/%24%7Bjndi:ldap:x%7D        | INVALID_ID",
        "/v1/tasks/..%2f..%2fetc               | INVALID_ID",
        "/v1/tasks/                            | INVALID_ID",
        "/v1/nothing                           | NOT_FOUND",
        "/v1/tasks/a/b/c                       | NOT_FOUND",
        "/v2/tasks                             | NOT_FOUND",
        "//v1/tasks                            | NOT_FOUND",
        "/v1/tenants/no-such                   | NOT_FOUND",
        "/v1/types/no-such                     | NOT_FOUND",
      })
  void an_invalid_url_is_rejected_with_its_code(String path, ErrorCode code) {
    TestApi.Reply reply = api.get(path).send().expect(code);

    assertThat(reply.body()).doesNotContain("<script>").doesNotContain("secret");
  }

  @ParameterizedTest
  @CsvSource({
    "DELETE, /v1/tasks, 'GET, POST'",
    "POST, /v1/tasks/0192f0c1-7d2a-7b3c-8d4e-5f6071829304, 'GET, PATCH'",
    "GET, /v1/tasks/batch, POST",
    "TRACE, /v1/tasks, 'GET, POST'",
    "OPTIONS, /v1/tasks, 'GET, POST'",
    "HEAD, /v1/work/claim, POST",
    "FOO, /v1/keys, 'GET, POST'",
  })
  void an_unsupported_method_is_rejected_with_the_supported_ones(
      String method, String path, String allow) {
    TestApi.Reply reply = api.request(method, path).send().expect(405);

    assertThat(reply.header("allow")).isEqualTo(allow);
  }

  @Test
  void a_body_needs_a_supported_content_type() {
    byte[] body = "{\"type\":\"t\"}".getBytes(StandardCharsets.UTF_8);

    api.post("/v1/tasks").send().expect(ErrorCode.BODY_REQUIRED);
    api.post("/v1/tasks").json("").send().expect(ErrorCode.BODY_REQUIRED);
    api.post("/v1/tasks").json("  ").send().expect(ErrorCode.BODY_REQUIRED);
    api.post("/v1/tasks").bytes("text/plain", body).send().expect(ErrorCode.UNSUPPORTED_MEDIA_TYPE);
    api.post("/v1/tasks")
        .bytes("application/json; charset=latin1", body)
        .send()
        .expect(ErrorCode.UNSUPPORTED_MEDIA_TYPE);
    api.post("/v1/tasks")
        .bytes("application/x-ndjson", body)
        .send()
        .expect(ErrorCode.UNSUPPORTED_MEDIA_TYPE);
    api.post("/v1/tasks")
        .json("{}")
        .header("Content-Encoding", "gzip")
        .send()
        .expect(ErrorCode.ENCODING_NOT_SUPPORTED);
    api.post("/v1/tasks")
        .bytes("application/json", "{}".getBytes(StandardCharsets.UTF_16))
        .send()
        .expect(ErrorCode.INVALID_ENCODING);
    api.request("GET", "/v1/tasks")
        .as(TestApi.ADMIN_KEY)
        .json("{}")
        .send()
        .expect(ErrorCode.BODY_NOT_ALLOWED);
    api.request("DELETE", "/v1/types/t")
        .as(TestApi.ADMIN_KEY)
        .json("{}")
        .send()
        .expect(ErrorCode.BODY_NOT_ALLOWED);
  }

  @Test
  void a_body_that_is_too_large_is_rejected_with_and_without_a_length() {
    byte[] body = new byte[Limits.BODY_BYTES + 1];
    Arrays.fill(body, (byte) ' ');
    String payload = "{\"type\":\"t\",\"payload\":\"" + "x".repeat(Limits.PAYLOAD_BYTES) + "\"}";

    api.post("/v1/tasks").bytes("application/json", body).send().expect(ErrorCode.BODY_TOO_LARGE);
    api.post("/v1/tasks").chunked(body).send().expect(ErrorCode.BODY_TOO_LARGE);
    api.post("/v1/tasks").json(payload).send().expect(ErrorCode.PAYLOAD_TOO_LARGE);
    api.post("/v1/tasks")
        .json("{\"payload\":" + "[".repeat(100_000))
        .send()
        .expect(ErrorCode.TOO_DEEP);
    String output =
        "{\"results\":[{\"id\":\"%s\",\"token\":\"%s\",\"outcome\":\"completed\",\"output\":\"%s\"}]}"
            .formatted(ID, "A".repeat(27), "x".repeat(Limits.OUTPUT_BYTES + 1));
    api.post("/v1/work/report").json(output).send().expect(ErrorCode.OUTPUT_TOO_LARGE);
  }

  @Test
  void a_batch_with_too_many_tasks_or_a_too_long_line_is_rejected() {
    byte[] many =
        "{\"type\":\"t\"}\n".repeat(Limits.BATCH_TASKS + 1).getBytes(StandardCharsets.UTF_8);
    byte[] line =
        ("{\"type\":\"t\"}\n" + " ".repeat(Limits.BODY_BYTES + 1)).getBytes(StandardCharsets.UTF_8);

    api.post("/v1/tasks/batch")
        .bytes("application/x-ndjson", many)
        .send()
        .expect(ErrorCode.BATCH_TOO_LARGE);
    api.post("/v1/tasks/batch")
        .bytes("application/x-ndjson", line)
        .send()
        .expect(ErrorCode.BODY_TOO_LARGE);
    api.post("/v1/tasks/batch")
        .json(
            "{\"tasks\":[" + "{\"type\":\"t\"},".repeat(Limits.BATCH_TASKS) + "{\"type\":\"t\"}]}")
        .send()
        .expect(ErrorCode.BATCH_TOO_LARGE);
  }

  @Test
  void an_error_in_a_batch_points_to_its_task() {
    String batch = "{\"type\":\"t\"}\n\n{\"type\":\"t\",\"priority\":11}\n";

    TestApi.Reply lines =
        api.post("/v1/tasks/batch")
            .bytes("application/x-ndjson", batch.getBytes(StandardCharsets.UTF_8))
            .send();
    TestApi.Reply broken =
        api.post("/v1/tasks/batch")
            .bytes("application/x-ndjson", "{}\n{".getBytes(StandardCharsets.UTF_8))
            .send();

    assertThat(
            lines
                .expect(ErrorCode.OUT_OF_RANGE)
                .json()
                .get("errors")
                .get(0)
                .get("pointer")
                .asString())
        .isEqualTo("/tasks/1/priority");
    assertThat(broken.expect(ErrorCode.INVALID_JSON).text("detail")).startsWith("line 2:");
  }

  @Test
  void an_idempotency_key_is_one_header_of_at_most_255_characters_without_spaces() {
    for (String key : List.of("a b", "k".repeat(256))) {
      api.post("/v1/tasks")
          .header("Idempotency-Key", key)
          .json("{\"type\":\"t\"}")
          .send()
          .expect(ErrorCode.INVALID_IDEMPOTENCY_KEY);
    }
    api.post("/v1/tasks")
        .header("Idempotency-Key", "a")
        .header("Idempotency-Key", "b")
        .json("{\"type\":\"t\"}")
        .send()
        .expect(ErrorCode.INVALID_IDEMPOTENCY_KEY);
  }

  @Test
  void if_match_must_be_one_entity_tag() {
    for (String tag : List.of("7", "\"1\", \"2\"", "\"", "W/1")) {
      api.patch("/v1/tasks/" + ID)
          .header("If-Match", tag)
          .json("{}")
          .send()
          .expect(ErrorCode.INVALID_HEADER);
    }
    api.put("/v1/types/t")
        .header("If-Match", "*")
        .json("{}")
        .send()
        .expect(ErrorCode.STALE_VERSION);
  }

  @Test
  void all_failed_authentications_get_the_same_response() {
    String first = api.request("GET", "/v1/tasks").send().expect(ErrorCode.UNAUTHORIZED).body();
    KeyText wrong = KeyText.random(new Random(1));

    for (String header :
        List.of(
            "Bearer",
            "Bearer ",
            "Basic YTpi",
            "Bearer x",
            "bearer " + wrong.text(),
            "Bearer " + wrong.text() + "x")) {
      TestApi.Reply reply =
          api.request("GET", "/v1/tasks")
              .header("Authorization", header)
              .send()
              .expect(ErrorCode.UNAUTHORIZED);
      assertThat(reply.body()).isEqualTo(first);
      assertThat(reply.header("www-authenticate")).startsWith("Bearer");
    }
  }

  @Test
  void every_response_including_an_error_has_security_headers() {
    for (String path : List.of("/v1/tasks", "/nowhere", "/health/live")) {
      TestApi.Reply reply = api.request("GET", path).send();

      assertThat(reply.header("x-content-type-options")).isEqualTo("nosniff");
      assertThat(reply.header("content-security-policy")).contains("frame-ancestors 'none'");
      assertThat(reply.header("cache-control")).isEqualTo("no-store");
      assertThat(reply.header("carillon-request-id")).matches("[0-9a-f]{16}");
      assertThat(reply.header("server")).isNull();
      assertThat(reply.header("date")).matches("\\w{3}, \\d\\d \\w{3} \\d{4} [0-9:]{8} GMT");
    }
  }
}
