package carillon.api.schema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import carillon.api.error.ApiException;
import carillon.api.error.FieldError;
import carillon.api.error.Limits;
import carillon.api.error.ValidationErrors;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
class PayloadSchemaTest {

  private static PayloadSchema compiled(String schema) {
    ValidationErrors errors = new ValidationErrors();
    return PayloadSchema.compile(schema, "/schema", errors)
        .orElseThrow(() -> new AssertionError(list(errors)));
  }

  private static List<FieldError> list(ValidationErrors errors) {
    return errors.isEmpty()
        ? List.of()
        : catchThrowableOfType(ApiException.class, errors::throwIfAny).errors();
  }

  private static List<FieldError> schemaErrors(String schema) {
    ValidationErrors errors = new ValidationErrors();
    assertThat(PayloadSchema.compile(schema, "/schema", errors)).isEmpty();
    return list(errors);
  }

  private static List<FieldError> mismatches(String schema, String payload) {
    ValidationErrors errors = new ValidationErrors();
    compiled(schema).check(payload, "/payload", new CheckBudget(1), errors);
    return list(errors);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      nullValues = "-",
      textBlock =
          """
          {"type": "object"}                                    | {}                    | []
          {"type": ["null", "array"]}                           | null                  | {}
          false                                                 | -                     | null
          {"type": "integer"}                                   | 1                     | 1.5
          {"type": "integer"}                                   | 1.0                   | "1"
          {"type": "integer", "minimum": 0}                     | 1e30                  | -1
          {"type": "integer", "maximum": 5}                     | 5.0                   | 5.5
          {"type": "number", "multipleOf": 0.1}                 | 0.3                   | 0.35
          {"minimum": 1e400}                                    | 1e401                 | 1
          {"enum": [1, "a", null]}                              | 1.0                   | 2
          {"const": {"a": [1]}}                                 | {"a": [1]}            | {"a": [2]}
          {"required": ["a"]}                                   | {"a": null}           | {"b": 1}
          {"properties": {"a": false}}                          | {"b": 1}              | {"a": 1}
          {"additionalProperties": {"type": "string"}}          | {"a": "b"}            | {"a": 1}
          {"items": {"type": "string"}, "maxItems": 2}          | ["a", "b"]            | ["a", "b", "c"]
          {"prefixItems": [{"const": 1}], "items": false}       | [1]                   | [1, 2]
          {"uniqueItems": true}                                 | [1, 2]                | [1, 1.0]
          {"contains": {"const": 1}}                            | [2, 1]                | [2]
          {"propertyNames": {"maxLength": 1}}                   | {"a": 1}              | {"aa": 1}
          {"patternProperties": {"^x": {"type": "null"}}}       | {"x1": null, "y": 1}  | {"x1": 1}
          {"pattern": "^[A-Z]{2}-[0-9]+$"}                      | "AB-12"               | "AB-12x"
          {"pattern": "b"}                                      | "abc"                 | "ac"
          {"pattern": "^\\\\u0041+\\\\/$"}                      | "AA/"                 | "B/"
          {"oneOf": [{"type": "string"}, {"type": "number"}]}   | 1                     | true
          {"anyOf": [{"type": "string"}, {"minimum": 3}]}       | 4                     | 2
          {"not": {"type": "string"}}                           | 1                     | "a"
          {"if": {"required": ["a"]}, "then": {"required": ["b"]}} | {"a": 1, "b": 1}   | {"a": 1}
          {"dependentRequired": {"a": ["b"]}}                   | {"b": 1}              | {"a": 1}
          {"unevaluatedProperties": false, "allOf": [{"properties": {"a": true}}]} | {"a": 1} | {"b": 1}
          {"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}} | 1                 | "a"
          {"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "number"}}} | 1        | "a"
          {"$defs": {"a/b": {"type": "null"}}, "$ref": "#/$defs/a~1b"} | null           | 1
          {"$id": "https://example.com/s", "$ref": "#/$defs/n", "$defs": {"n": {"type": "null"}}} | null | 1
          {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "null"} | null | 1
          {"properties": {"child": {"$ref": "#"}, "$ref": {"type": "string"}}, "required": ["v"]} | {"v": 1, "child": {"v": 2, "$ref": "x"}} | {"v": 1, "child": {}}
          {"x-my-own": 1, "type": "null"}                       | null                  | 1
          """)
  void a_schema_accepts_some_payloads_and_rejects_others(
      String schema, @Nullable String match, String mismatch) {
    if (match != null) {
      assertThat(mismatches(schema, match)).isEmpty();
    }
    assertThat(mismatches(schema, mismatch))
        .isNotEmpty()
        .allMatch(error -> error.code().equals("schema_mismatch"));
  }

  @Test
  void every_mismatch_has_a_pointer() {
    String schema =
        """
        {"type": "object", "required": ["to"], "properties": {"lines": {"items": {
           "properties": {"a/b": {"type": "integer"}}}}}}
        """;

    assertThat(mismatches(schema, "{\"lines\": [{}, {\"a/b\": \"x\"}]}"))
        .containsExactlyInAnyOrder(
            new FieldError("/payload", "schema_mismatch", "required property to not found"),
            new FieldError(
                "/payload/lines/1/a~1b", "schema_mismatch", "string found, integer expected"));
  }

  @Test
  void a_missing_payload_is_validated_as_null() {
    ValidationErrors errors = new ValidationErrors();

    compiled("{\"type\": \"object\"}").check(null, "/payload", new CheckBudget(1), errors);

    assertThat(list(errors))
        .containsExactly(
            new FieldError("/payload", "schema_mismatch", "null found, object expected"));
  }

  @Test
  void names_and_values_in_messages_are_escaped_and_truncated() {
    String names = "\"<b>\\u001b[31m\", \"" + "x".repeat(500) + "\"";

    assertThat(mismatches("{\"enum\": [" + names + "]}", "1"))
        .singleElement()
        .satisfies(
            error ->
                assertThat(error.message())
                    .hasSizeLessThanOrEqualTo(200)
                    .contains("\\u003cb\\u003e\\u001B[31m")
                    .matches("[ -~]*"));
    assertThat(mismatches("{\"additionalProperties\": {\"type\": \"null\"}}", "{\"\\u202e<\": 1}"))
        .singleElement()
        .extracting(FieldError::pointer)
        .isEqualTo("/payload/\\u202e\\u003c");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          1                                             | invalid_schema | /schema
          "true"                                        | invalid_schema | /schema
          []                                            | invalid_schema | /schema
          {"type": "strin"}                             | invalid_schema | /schema/type
          {"type": 1}                                   | invalid_schema | /schema/type
          {"properties": {"a": {"minLength": -1}}}      | invalid_schema | /schema/properties/a/minLength
          {"properties": []}                            | invalid_schema | /schema/properties
          {"required": "a"}                             | invalid_schema | /schema/required
          {"allOf": []}                                 | invalid_schema | /schema/allOf
          {"maxLength": 1e10}                           | invalid_schema | /schema
          {"minimum": 1e999999999}                      | invalid_schema | /schema
          {"$schema": "http://json-schema.org/draft-07/schema#"} | invalid_schema | /schema/$schema
          {"$schema": "https://example.com/mine"}       | invalid_schema | /schema/$schema
          {"$ref": "https://example.com/s"}             | remote_ref     | /schema/$ref
          {"$ref": "http://127.0.0.1:1/s#/a"}           | remote_ref     | /schema/$ref
          {"$ref": "file:///etc/passwd"}                | remote_ref     | /schema/$ref
          {"$ref": "classpath:/draft/2020-12/schema"}   | remote_ref     | /schema/$ref
          {"$ref": "https://json-schema.org/draft/2020-12/schema"} | remote_ref | /schema/$ref
          {"$ref": "other.json"}                        | remote_ref     | /schema/$ref
          {"items": {"$dynamicRef": "jar:file:x"}}      | remote_ref     | /schema/items/$dynamicRef
          {"$defs": {"a": {"not": {"$ref": "x"}}}}      | remote_ref     | /schema/$defs/a/not/$ref
          {"$ref": "#/$defs/none"}                      | invalid_schema | /schema/$ref
          {"$ref": "#none"}                             | invalid_schema | /schema/$ref
          {"$ref": "#/enum/0", "enum": [{"$ref": "x"}]} | invalid_schema | /schema/$ref
          {"$ref": "#%zz"}                              | invalid_schema | /schema/$ref
          {"items": {"$id": "https://example.com/x"}}   | invalid_schema | /schema/items/$id
          {"$ref": "#"}                                 | invalid_schema | /schema
          {"allOf": [{"$ref": "#"}]}                    | invalid_schema | -
          {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}} | invalid_schema | -
          {"pattern": "("}                              | invalid_schema | /schema/pattern
          {"pattern": "(?=a)b"}                         | invalid_schema | /schema/pattern
          {"pattern": "(a)\\\\1"}                       | invalid_schema | /schema/pattern
          {"pattern": "((a{1000}){1000}){1000}"}        | invalid_schema | /schema/pattern
          {"patternProperties": {"a/(": true}}          | invalid_schema | /schema/patternProperties/a~1(
          """)
  void an_unsupported_schema_is_rejected_with_a_pointer(
      String schema, String code, String pointer) {
    assertThat(schemaErrors(schema))
        .isNotEmpty()
        .allMatch(error -> error.code().equals(code))
        .anyMatch(error -> pointer.equals("-") || error.pointer().equals(pointer));
  }

  @Test
  void a_schema_has_a_bounded_number_of_subschemas() {
    String many =
        IntStream.range(0, 5_000)
            .mapToObj(i -> "\"p" + i + "\":{}")
            .collect(Collectors.joining(","));

    assertThat(schemaErrors("{\"properties\": {" + many + "}}"))
        .extracting(FieldError::message)
        .containsExactly("must have at most 2000 subschemas");
  }

  /** Cases that would take forever without a bound: name, schema, payload. */
  static Stream<Arguments> bombs() {
    String subject = "\"" + "a".repeat(200_000) + "!\"";
    String doubling =
        IntStream.range(0, 60)
            .mapToObj(
                i ->
                    "\"d"
                        + i
                        + "\":{\"allOf\":[{\"$ref\":\"#/$defs/d%1$d\"},".formatted(i + 1)
                        + "{\"$ref\":\"#/$defs/d%1$d\"}]}".formatted(i + 1))
            .collect(
                Collectors.joining(",", "{\"$ref\":\"#/$defs/d0\",\"$defs\":{", ",\"d60\":{}}}"));
    String chain =
        IntStream.range(0, 1_500)
            .mapToObj(i -> "\"d%d\":{\"$ref\":\"#/$defs/d%d\"}".formatted(i, i + 1))
            .collect(
                Collectors.joining(",", "{\"$ref\":\"#/$defs/d0\",\"$defs\":{", ",\"d1500\":{}}}"));
    String patterns =
        IntStream.range(0, 500)
            .mapToObj(i -> "\"^x%d.*[ab]{3}$\":{}".formatted(i))
            .collect(Collectors.joining(",", "{\"patternProperties\":{", "}}"));
    String names =
        IntStream.range(0, 20_000)
            .mapToObj(i -> "\"n%d\":1".formatted(i))
            .collect(Collectors.joining(",", "{", "}"));
    String wide =
        IntStream.range(0, 4_000)
            .mapToObj(i -> "\"r%d\"".formatted(i))
            .collect(Collectors.joining(",", "{\"items\":{\"required\":[", "]}}"));
    String objects = "[" + "{},".repeat(80_000) + "{}]";
    return Stream.of(
        Arguments.of("a pattern that backtracks", "{\"pattern\":\"(a+)+$\"}", subject),
        Arguments.of(
            "many optional parts",
            "{\"pattern\":\"" + "a?".repeat(62) + "a".repeat(62) + "$\"}",
            subject),
        Arguments.of("a pattern with a long program", "{\"pattern\":\"([ab]{900}){5}c\"}", subject),
        Arguments.of("references that double", doubling, "1"),
        Arguments.of("a long chain of references", chain, "1"),
        Arguments.of(
            "a tree that doubles with each level",
            "{\"items\":{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}}",
            "[".repeat(60) + "]".repeat(60)),
        Arguments.of("many patterns for many names", patterns, names),
        Arguments.of("many required names for many objects", wide, objects));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("bombs")
  void validation_time_is_bounded(String name, String schema, String payload) {
    PayloadSchema compiled = compiled(schema);
    ValidationErrors errors = new ValidationErrors();
    long start = System.nanoTime();

    compiled.check(payload, "/payload", new CheckBudget(1), errors);

    // Far above the usual time, for slow machines, and far below the time without a bound.
    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .as(name)
        .isLessThan(Duration.ofSeconds(10));
    assertThat(list(errors)).as(name).hasSizeLessThanOrEqualTo(20).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"1e999999999", "-1e-999999999", "[1e100000]"})
  void a_number_with_too_many_digits_is_rejected(String payload) {
    assertThat(mismatches("{\"type\": \"integer\", \"multipleOf\": 3}", payload))
        .extracting(FieldError::message)
        .containsExactly("has a number with too many digits");
  }

  /** The number of valid tasks of a batch, and the errors of the next task. */
  private record Checked(int tasks, List<FieldError> errors) {}

  private static Checked checked(int batch, String schema, String payload) {
    PayloadSchema compiled = compiled(schema);
    CheckBudget budget = new CheckBudget(batch);
    ValidationErrors errors = new ValidationErrors();
    int tasks = 0;
    while (tasks < batch) {
      compiled.check(payload, "/payload", budget, errors);
      if (!errors.isEmpty()) {
        break;
      }
      tasks++;
    }
    return new Checked(tasks, list(errors));
  }

  @Test
  void a_batch_has_one_budget() {
    String payload = "[" + "1,".repeat(100_000) + "1]";

    Checked checked = checked(1_000, "{\"items\": {\"type\": \"integer\"}}", payload);

    assertThat(checked.tasks()).isBetween(5, 500);
    assertThat(checked.errors())
        .extracting(FieldError::message)
        .containsExactly(
            "validation of this request takes too many steps; send fewer tasks at once, or simplify"
                + " the schema");
  }

  @Test
  void the_largest_batch_with_an_ordinary_schema_fits_its_budget() {
    String uuid =
        "{\"pattern\": \"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$\"}";
    String schema =
        """
        {"type": "object", "required": ["id", "customer"], "properties": {"id": %1$s, "customer": %1$s,
           "amount": {"type": "integer"}, "currency": {"enum": ["EUR"]}, "note": {"type": "string"}}}
        """
            .formatted(uuid);
    String id = "\"01234567-89ab-cdef-0123-456789abcdef\"";
    String payload =
        """
        {"id": %1$s, "customer": %1$s, "amount": 7, "currency": "EUR", "note": "-"}
        """
            .formatted(id);

    Checked checked = checked(Limits.BATCH_TASKS, schema, payload);

    assertThat(checked.errors()).isEmpty();
    assertThat(checked.tasks()).isEqualTo(Limits.BATCH_TASKS);
  }

  /**
   * Cases that would take more memory than a node has without a bound: name, schema, pointer of the
   * error.
   */
  static Stream<Arguments> largePatterns() {
    String long4990 = "{\"pattern\":\"a{1000}b{1000}c{1000}d{1000}e{990}\"}";
    String named = "{\"pattern\":\"" + "\\\\pL".repeat(200) + "\"}";
    return Stream.of(
        Arguments.of("many long programs", properties(1_100, long4990), "/properties/p4/pattern"),
        Arguments.of("many large classes", properties(70, named), "/properties/p2/pattern"),
        Arguments.of(
            "a quote that hides a repeat",
            "{\"pattern\":\"\\\\Q[\\\\E((a{1000}){1000}){1000}\"}",
            "/pattern"),
        Arguments.of(
            "a class that hides a group",
            "{\"pattern\":\"((a{1000}[[:alpha:](]){1000}[[:alpha:](]){1000}\"}",
            "/pattern"));
  }

  private static String properties(int count, String each) {
    return IntStream.range(0, count)
        .mapToObj(i -> "\"p%d\":%s".formatted(i, each))
        .collect(Collectors.joining(",", "{\"properties\":{", "}}"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("largePatterns")
  void the_memory_of_compiled_patterns_is_bounded(String name, String schema, String pointer) {
    assertThat(schema).as(name).hasSizeLessThan(Limits.SCHEMA_BYTES);

    assertThat(schemaErrors(schema))
        .as(name)
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.pointer()).isEqualTo("/schema" + pointer);
              assertThat(error.code()).isEqualTo("invalid_schema");
            });
  }

  @Test
  void the_error_for_too_many_long_patterns_says_what_to_do() {
    String schema = properties(5, "{\"pattern\":\"a{1000}b{1000}c{1000}d{1000}e{990}\"}");

    assertThat(schemaErrors(schema))
        .extracting(FieldError::message)
        .containsExactly(
            "the patterns of a schema must have at most about 20000 characters with their repeats"
                + " written out; use fewer patterns or shorter repeats");
  }
}
