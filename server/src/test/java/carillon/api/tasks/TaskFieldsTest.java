package carillon.api.tasks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.json.Fields;
import carillon.api.json.JsonText;
import carillon.api.targets.BrokerFields;
import carillon.api.targets.TargetFields;
import carillon.model.target.AddressRules;
import carillon.model.target.BrokerTargetRules;
import carillon.model.target.Grants;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.Target;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import carillon.testkit.TestTask;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TaskFieldsTest {

  private static final Instant NOW = Instant.parse("2026-06-01T00:00:00Z");

  private final TaskFields reader =
      new TaskFields(
          new TargetFields(
              new HttpTargetRules(AddressRules.PUBLIC_ONLY),
              new BrokerFields(BrokerTargetRules.NO_BROKERS)),
          InstantSource.fixed(NOW));

  private NewTask read(String json) {
    Fields fields = Fields.of(JsonText.object(json));
    NewTask task = reader.read(fields, Grants.EVERYWHERE);
    fields.errors().throwIfAny();
    return task;
  }

  @Test
  void every_field_is_read() {
    NewTask task =
        read(
            """
            {"type": "mail.send", "key": "order-1", "delay": "5m", "priority": 9, "payload": {"a": 1.0},
             "target": {"http": {"url": "https://example.com/x", "headers": {"X-A": "b"}, "timeout": "10s"}},
             "retry": {"maxAttempts": 3, "backoff": "fixed", "base": "2s", "jitter": "none"},
             "ttl": "PT1H", "concurrencyKey": "c", "unique": {"for": "1h"}, "metadata": {"team": "a"}}
            """);

    assertThat(task)
        .isEqualTo(
            TestTask.of("mail.send")
                .key("order-1")
                .delay(Duration.ofMinutes(5))
                .priority(9)
                .payload("{\"a\": 1.0}")
                .target(
                    new Target.Http(
                        "https://example.com/x",
                        "POST",
                        Map.of("X-A", "b"),
                        null,
                        Duration.ofSeconds(10)))
                .retry(
                    new RetryPolicy(
                        3,
                        null,
                        RetryPolicy.Backoff.FIXED,
                        Duration.ofSeconds(2),
                        Duration.ofHours(1),
                        RetryPolicy.Jitter.NONE))
                .ttl(Duration.ofHours(1))
                .concurrencyKey("c")
                .uniqueFor(Duration.ofHours(1))
                .metadata(Map.of("team", "a"))
                .build());
  }

  @Test
  void null_means_absent_except_as_a_payload() {
    NewTask task =
        read("{\"type\":\"t\",\"key\":null,\"dueAt\":null,\"retry\":null,\"payload\":null}");

    assertThat(task.spec().key()).isNull();
    assertThat(task.spec().payload()).isEqualTo("null");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{}                                                  | /type            | REQUIRED_FIELD",
        "{'type':''}                                         | /type            | INVALID_VALUE",
        "{'type':'a b'}                                      | /type            | INVALID_VALUE",
        "{'type':7}                                          | /type            | INVALID_TYPE",
        "{'type':'t','priorty':1}                            | /priorty         | UNKNOWN_FIELD",
        "{'type':'t','id':'x'}                               | /id              | READ_ONLY_FIELD",
        "{'type':'t','tenant':'x'}                           | /tenant          | READ_ONLY_FIELD",
        "{'type':'t','status':'x'}                           | /status          | READ_ONLY_FIELD",
        "{'type':'t','attempt':1}                            | /attempt         | READ_ONLY_FIELD",
        "{'type':'t','version':1}                            | /version         | READ_ONLY_FIELD",
        "{'type':'t','a/b~c':1}                              | /a~1b~0c         | UNKNOWN_FIELD",
        "{'type':'t','key':'a\\nb'}                          | /key             | INVALID_VALUE",
        "{'type':'t','key':'\\ud800'}                        | /key             | INVALID_VALUE",
        "{'type':'t','key':1}                                | /key             | INVALID_TYPE",
        "{'type':'t','priority':10}                          | /priority        | OUT_OF_RANGE",
        "{'type':'t','priority':-1}                          | /priority        | OUT_OF_RANGE",
        "{'type':'t','priority':1.5}                         | /priority        | OUT_OF_RANGE",
        "{'type':'t','priority':1e1000000000}                | /priority        | OUT_OF_RANGE",
        "{'type':'t','priority':99999999999999999999999999}  | /priority        | OUT_OF_RANGE",
        "{'type':'t','priority':'5'}                         | /priority        | INVALID_TYPE",
        "{'type':'t','dueAt':'2026-02-30T00:00:00Z'}         | /dueAt           | INVALID_TIME",
        "{'type':'t','dueAt':'tomorrow'}                     | /dueAt           | INVALID_TIME",
        "{'type':'t','dueAt':1767225600}                     | /dueAt           | INVALID_TIME",
        "{'type':'t','dueAt':'2026-01-01T00:00:00'}          | /dueAt           | ZONE_REQUIRED",
        "{'type':'t','dueAt':'+294277-01-01T00:00:00Z'}      | /dueAt           |"
            + " TIME_OUT_OF_RANGE",
        "{'type':'t','dueAt':'+1000000000-01-01T00:00:00Z'}  | /dueAt           |"
            + " TIME_OUT_OF_RANGE",
        "{'type':'t','dueAt':'0000-01-01T00:00:00Z'}         | /dueAt           |"
            + " TIME_OUT_OF_RANGE",
        "{'type':'t','dueAt':'-4713-01-01T00:00:00Z'}        | /dueAt           |"
            + " TIME_OUT_OF_RANGE",
        "{'type':'t','dueAt':'2028-06-02T00:00:00Z'}         | /dueAt           | BEYOND_HORIZON",
        "{'type':'t','dueAt':'9999-12-31T23:59:59-18:00'}    | /dueAt           |"
            + " TIME_OUT_OF_RANGE",
        "{'type':'t','delay':'731d'}                         | /delay           | BEYOND_HORIZON",
        "{'type':'t','delay':'99999999999999999999d'}        | /delay           | BEYOND_HORIZON",
        "{'type':'t','delay':'-1s'}                          | /delay           | INVALID_DURATION",
        "{'type':'t','delay':'soon'}                         | /delay           | INVALID_DURATION",
        "{'type':'t','delay':5}                              | /delay           | INVALID_TYPE",
        "{'type':'t','delay':'1s','dueAt':'2026-06-01T01:00:00Z'} | /delay      | EXCLUSIVE_FIELDS",
        "{'type':'t','ttl':'1s','expiresAt':'2026-06-01T01:00:00Z'} | /ttl      | EXCLUSIVE_FIELDS",
        "{'type':'t','ttl':'0s'}                             | /ttl             | OUT_OF_RANGE",
        "{'type':'t','dueAt':'2026-06-02T00:00:00Z','expiresAt':'2026-06-01T01:00:00Z'} |"
            + " /expiresAt | OUT_OF_RANGE",
        "{'type':'t','expiresAt':'2026-05-31T23:59:59Z'}     | /expiresAt       | OUT_OF_RANGE",
        "{'type':'t','expiresAt':'2026-06-01T00:00:00Z'}     | /expiresAt       | OUT_OF_RANGE",
        "{'type':'t','delay':'2h','expiresAt':'2026-06-01T01:00:00Z'} | /expiresAt | OUT_OF_RANGE",
        "{'type':'t','dueAt':'2026-05-01T00:00:00Z','expiresAt':'2026-05-02T00:00:00Z'} |"
            + " /expiresAt | OUT_OF_RANGE",
        "{'type':'t','unique':{'for':'1h'}}                  | /unique          | KEY_REQUIRED",
        "{'type':'t','key':'k','unique':{}}                  | /unique/for      | REQUIRED_FIELD",
        "{'type':'t','key':'k','unique':true}                | /unique          | INVALID_TYPE",
        "{'type':'t','retry':{'maxAttempts':0}}              | /retry/maxAttempts | OUT_OF_RANGE",
        "{'type':'t','retry':{'maxAttempts':-1}}             | /retry/maxAttempts | OUT_OF_RANGE",
        "{'type':'t','retry':{'maxAttempts':1.5}}            | /retry/maxAttempts | OUT_OF_RANGE",
        "{'type':'t','retry':{'maxAttempts':1000000000}}     | /retry/maxAttempts | OUT_OF_RANGE",
        "{'type':'t','retry':{'maxAttempts':'3'}}            | /retry/maxAttempts | INVALID_TYPE",
        "{'type':'t','retry':{'backoff':'EXPONENTIAL'}}      | /retry/backoff   | INVALID_VALUE",
        "{'type':'t','retry':{'jitter':'some'}}              | /retry/jitter    | INVALID_VALUE",
        "{'type':'t','retry':{'base':'0s'}}                  | /retry/base      | OUT_OF_RANGE",
        "{'type':'t','retry':{'base':'2h'}}                  | /retry/base      | OUT_OF_RANGE",
        "{'type':'t','retry':{'max':'31d'}}                  | /retry/max       | OUT_OF_RANGE",
        "{'type':'t','retry':{'maxAttempts':100,'max':'30d','base':'30d'}} | /retry/max |"
            + " BEYOND_HORIZON",
        "{'type':'t','retry':{'attempts':3}}                 | /retry/attempts  | UNKNOWN_FIELD",
        "{'type':'t','metadata':[]}                          | /metadata        | INVALID_TYPE",
        "{'type':'t','metadata':{'a':1}}                     | /metadata/a      | INVALID_TYPE",
        "{'type':'t','metadata':{'a':null}}                  | /metadata/a      | INVALID_TYPE",
        "{'type':'t','metadata':{'':'x'}}                    | /metadata/       | TOO_LONG",
        "{'type':'t','target':{}}                            | /target          | EXCLUSIVE_FIELDS",
        "{'type':'t','target':{'pull':{},'discard':{}}}      | /target          | EXCLUSIVE_FIELDS",
        "{'type':'t','target':{'kafka':{'topic':'x'}}}       | /target/kafka/cluster |"
            + " TARGET_NOT_ALLOWED",
        "{'type':'t','target':{'rabbitmq':{'routingKey':'x'}}} | /target/rabbitmq/cluster |"
            + " TARGET_NOT_ALLOWED",
        "{'type':'t','target':{'pull':{'x':1}}}              | /target/pull/x   | UNKNOWN_FIELD",
        "{'type':'t','target':{'http':{}}}                   | /target/http/url | REQUIRED_FIELD",
        "{'type':'t','target':{'http':{'url':'ftp://x.com'}}} | /target/http/url | SCHEME_OR_HOST",
        "{'type':'t','target':{'http':{'url':'http://127.0.0.1/'}}} | /target/http/url |"
            + " ADDRESS_NOT_ALLOWED",
        "{'type':'t','target':{'http':{'url':'http://u:p@x.com/'}}} | /target/http/url |"
            + " USERINFO_NOT_ALLOWED",
        "{'type':'t','target':{'http':{'url':'http://x.com:22/'}}} | /target/http/url |"
            + " PORT_NOT_ALLOWED",
        "{'type':'t','target':{'http':{'url':'http://x.com/','method':'TRACE'}}} |"
            + " /target/http/method | TARGET_NOT_ALLOWED",
        "{'type':'t','target':{'http':{'url':'http://x.com/','timeout':'24h'}}} |"
            + " /target/http/timeout | OUT_OF_RANGE",
        "{'type':'t','target':{'http':{'url':'http://x.com/','headers':{'Host':'y'}}}} |"
            + " /target/http/headers/Host | RESERVED_HEADER",
      })
  void an_error_has_a_pointer_and_a_code(String json, String pointer, ErrorCode code) {
    ApiException e = catchThrowableOfType(ApiException.class, () -> read(json.replace('\'', '"')));

    assertThat(e.code()).isEqualTo(code);
    assertThat(e.errors()).first().extracting(FieldError::pointer).isEqualTo(pointer);
  }

  @Test
  void all_errors_are_reported_and_the_most_severe_decides_the_status() {
    ApiException e =
        catchThrowableOfType(
            ApiException.class, () -> read("{\"priority\": 11, \"dueAt\": \"x\", \"priorty\": 1}"));

    assertThat(e.errors())
        .extracting(FieldError::pointer)
        .containsExactly("/type", "/dueAt", "/priority", "/priorty");
    assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_FIELD);
    assertThat(e.errors().getLast().message()).contains("did you mean priority?");
  }

  @Test
  void lengths_are_limited() {
    assertRejected("{\"type\":\"t\",\"key\":\"" + "k".repeat(201) + "\"}", ErrorCode.TOO_LONG);
    assertRejected("{\"type\":\"" + "t".repeat(101) + "\"}", ErrorCode.INVALID_VALUE);
    assertRejected(
        "{\"type\":\"t\",\"concurrencyKey\":\"" + "k".repeat(201) + "\"}", ErrorCode.TOO_LONG);
    assertRejected(
        "{\"type\":\"t\",\"metadata\":{\"" + "k".repeat(65) + "\":\"\"}}", ErrorCode.TOO_LONG);
    assertRejected(
        "{\"type\":\"t\",\"metadata\":{\"k\":\"" + "v".repeat(513) + "\"}}", ErrorCode.TOO_LONG);
    assertRejected(
        "{\"type\":\"t\",\"payload\":\"" + "p".repeat(262_143) + "\"}",
        ErrorCode.PAYLOAD_TOO_LARGE);
    assertRejected(
        "{\"type\":\"t\",\"payload\":\"" + "\u20ac".repeat(87_381) + "\"}",
        ErrorCode.PAYLOAD_TOO_LARGE);
    StringBuilder pairs = new StringBuilder("\"k\":\"\"");
    for (int i = 0; i < 16; i++) {
      pairs.append(",\"k").append(i).append("\":\"\"");
    }
    assertRejected("{\"type\":\"t\",\"metadata\":{" + pairs + "}}", ErrorCode.TOO_LONG);
  }

  private void assertRejected(String json, ErrorCode code) {
    ApiException e = catchThrowableOfType(ApiException.class, () -> read(json));

    assertThat(e.code()).isEqualTo(code);
  }
}
