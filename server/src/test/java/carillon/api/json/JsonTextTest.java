package carillon.api.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTextTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "` `                        | BODY_REQUIRED",
        "[]                         | OBJECT_EXPECTED",
        "\"x\"                      | OBJECT_EXPECTED",
        "null                       | OBJECT_EXPECTED",
        "42                         | OBJECT_EXPECTED",
        "{\"a\":1                   | INVALID_JSON",
        "{\"a\":1,}                 | INVALID_JSON",
        "{'a':1}                    | INVALID_JSON",
        "{a:1}                      | INVALID_JSON",
        "{\"a\":1} // no            | INVALID_JSON",
        "{/* no */\"a\":1}          | INVALID_JSON",
        "{\"a\":NaN}                | INVALID_JSON",
        "{\"a\":Infinity}           | INVALID_JSON",
        "{\"a\":+1}                 | INVALID_JSON",
        "{\"a\":01}                 | INVALID_JSON",
        "{\"a\":.5}                 | INVALID_JSON",
        "{\"a\":1}{}                | INVALID_JSON",
        "{\"a\":1} x                | INVALID_JSON",
        "{\"a\":\"\\x\"}            | INVALID_JSON",
        "{\"a\":1,\"a\":2}          | DUPLICATE_FIELD",
        "{\"payload\":{\"a\":1,\"a\":2}} | DUPLICATE_FIELD",
        "{\"a\":\"\\u0000\"}        | NUL_NOT_ALLOWED",
        "{\"\\u0000\":1}            | NUL_NOT_ALLOWED",
        "{\"payload\":[\"x\\u0000\"]} | NUL_NOT_ALLOWED",
        "{\"payload\":\"x\\u0000\"} | NUL_NOT_ALLOWED",
      })
  void an_invalid_body_is_rejected_with_its_code(String text, ErrorCode code) {
    ApiException e = catchThrowableOfType(ApiException.class, () -> JsonText.object(text));

    assertThat(e.code()).isEqualTo(code);
  }

  @Test
  void an_escaped_backslash_before_u0000_is_not_a_nul() {
    assertThat(JsonText.object("{\"a\":\"\\\\u0000\"}").fields()).containsKey("a");
  }

  @Test
  void nesting_is_bounded() {
    for (int depth : List.of(65, 100_000)) {
      String text = "{\"payload\":" + "[".repeat(depth - 1) + "]".repeat(depth - 1) + "}";

      ApiException e = catchThrowableOfType(ApiException.class, () -> JsonText.object(text));

      assertThat(e.code()).isEqualTo(ErrorCode.TOO_DEEP);
    }
    assertThat(JsonText.object("{\"payload\":" + "[".repeat(63) + "]".repeat(63) + "}").fields())
        .hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.0",
        "-0",
        "1e5",
        "1E+05",
        "123456789012345678901234567890.10",
        "\"a\\u0041\\/\"",
        "true",
        "null",
        "[ ]",
        "{ \"b\" : [1.0, {\"payload\": 2}] }",
        "\"\u00e9\ud83d\ude00\"",
        "[\"output\", \"\\\"\"]"
      })
  void a_payload_keeps_the_text_that_was_sent(String payload) {
    for (String text :
        List.of(
            "{\"payload\":" + payload + "}",
            "{ \"type\": \"t\", \"payload\" :\n\t" + payload + " ,\"key\":\"k\"}",
            "{\"key\":\"" + "x".repeat(100_000) + "\",\"payload\":" + payload + "\n}")) {
      assertThat(JsonText.object(text).fields().get("payload"))
          .isEqualTo(new JsonValue.Raw(payload));
    }
  }

  @Test
  void a_payload_longer_than_any_buffer_keeps_the_text_that_was_sent() {
    String payload = "[" + "\"\u00e4bc\", 1.50, ".repeat(20_000) + "{}]";

    assertThat(JsonText.object("{\"payload\": " + payload + ", \"a\": 1}").fields().get("payload"))
        .isEqualTo(new JsonValue.Raw(payload));
  }

  @Test
  void items_are_read_one_by_one_with_their_payloads() {
    List<JsonValue> items = new ArrayList<>();

    JsonText.items("{\"tasks\": [{\"payload\": 1.0}, {\"payload\": [2]}]}", "tasks", items::add);

    assertThat(items)
        .extracting(item -> ((JsonValue.Members) item).fields().get("payload"))
        .containsExactly(new JsonValue.Raw("1.0"), new JsonValue.Raw("[2]"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[]                    | OBJECT_EXPECTED",
        "{}                    | REQUIRED_FIELD",
        "{\"task\": []}        | UNKNOWN_FIELD",
        "{\"tasks\": {}}       | INVALID_TYPE",
        "{\"tasks\": [}        | INVALID_JSON",
        "{\"tasks\": []} x     | INVALID_JSON",
        "{\"tasks\": [],\"tasks\": []} | DUPLICATE_FIELD",
      })
  void a_body_that_is_not_one_array_of_tasks_is_rejected(String text, ErrorCode code) {
    ApiException e =
        catchThrowableOfType(ApiException.class, () -> JsonText.items(text, "tasks", _ -> {}));

    assertThat(e.code()).isEqualTo(code);
  }

  @Test
  void only_utf_8_without_a_byte_order_mark_is_accepted() {
    List<byte[]> wrong =
        List.of(
            new byte[] {'{', '"', (byte) 0xc3, '"', '}'},
            new byte[] {'{', '"', (byte) 0xed, (byte) 0xa0, (byte) 0x80, '"', '}'},
            new byte[] {(byte) 0xc0, (byte) 0xaf},
            "{}".getBytes(StandardCharsets.UTF_16),
            "{}".getBytes(StandardCharsets.UTF_16LE),
            "\ufeff{}".getBytes(StandardCharsets.UTF_8));
    for (byte[] bytes : wrong) {
      ApiException e =
          catchThrowableOfType(
              ApiException.class,
              () -> JsonText.object(bytes, bytes.length, BodyMemory.Held.unbounded()));

      assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ENCODING);
    }
  }
}
