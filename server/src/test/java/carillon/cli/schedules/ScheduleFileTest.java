package carillon.cli.schedules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.cli.CommandFailed;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ScheduleFileTest {

  private static List<ScheduleFile.Wanted> read(String text) {
    return ScheduleFile.read("f.yaml", text);
  }

  @Test
  void a_schedule_has_the_fields_of_the_api_and_each_has_its_line() {
    ScheduleFile.Wanted nightly =
        read("""
        # what runs at night
        schedules:
          - name: nightly
            cron: "30 2 * * *"
            timezone: Europe/Berlin
            type: report
            payload: {day: 1, part: 0.10, big: 123456789012345678901, tags: [a, true, null]}
            target:
              http: {url: "https://x.example/run", headers: {x-a: "1"}}
            maxRuns: 5
            paused: false
            key:
        """)
            .getFirst();

    assertThat(nightly.name()).isEqualTo("nightly");
    assertThat(nightly.line()).isEqualTo(3);
    assertThat(nightly.lines()).containsEntry("cron", 4).containsEntry("target", 8);
    assertThat(nightly.definition())
        .hasToString(
            "{\"cron\":\"30 2 * * *\",\"timezone\":\"Europe/Berlin\",\"type\":\"report\","
                + "\"payload\":{\"day\":1,\"part\":0.10,\"big\":123456789012345678901,"
                + "\"tags\":[\"a\",true,null]},"
                + "\"target\":{\"http\":{\"url\":\"https://x.example/run\",\"headers\":{\"x-a\":\"1\"}}},"
                + "\"maxRuns\":5,\"paused\":false}");
  }

  @Test
  void several_documents_are_one_list_and_empty_ones_are_valid() {
    assertThat(
            read(
                """
                ---
                schedules:
                  - {name: a, cron: "@daily", type: t}
                ---
                ---
                schedules:
                ---
                schedules: []
                ---
                schedules:
                  - {name: b, every: 90s, type: t}
                """))
        .extracting(ScheduleFile.Wanted::name)
        .containsExactly("a", "b");
    assertThat(read("")).isEmpty();
    assertThat(read("# nothing yet\n")).isEmpty();
  }

  @Test
  void a_plain_tilde_is_null_and_a_quoted_one_is_text() {
    ScheduleFile.Wanted one =
        read("""
        schedules:
          - name: a # \ud83d\ude00
            key: ~
            payload: [~, '~', "0x10", '.inf', 0x, .info, 0b1]
            type: |-
              ~
        """)
            .getFirst();

    assertThat(one.definition())
        .hasToString(
            "{\"payload\":[null,\"~\",\"0x10\",\".inf\",\"0x\",\".info\",\"0b1\"],\"type\":\"~\"}");
  }

  @Test
  void json_is_yaml() {
    assertThat(read("{\"schedules\": [{\"name\": \"a\", \"every\": \"1s\", \"type\": \"t\"}]}"))
        .extracting(ScheduleFile.Wanted::name)
        .containsExactly("a");
  }

  static Stream<Arguments> errors() {
    String one = "schedules:\n  - name: a\n    ";
    return Stream.of(
        Arguments.of("[]", "line 1: must start with \"schedules:\""),
        Arguments.of("hello", "line 1: must start with \"schedules:\""),
        Arguments.of("schedule: []", "line 1: unknown field \"schedule\"; did you mean schedules?"),
        Arguments.of("schedules: {a: 1}", "line 1: schedules must be a list"),
        Arguments.of("schedules:\n  - a", "line 2: a schedule must be a list of \"field: value\""),
        Arguments.of("schedules:\n  - cron: x", "line 2: a schedule needs a name"),
        Arguments.of("schedules:\n  - name: 7", "line 2: name must be text; put it in quotes"),
        Arguments.of("schedules:\n  - name: ''", "line 2: name must be text"),
        Arguments.of(one + "corn: x", "line 3: unknown field \"corn\"; did you mean cron?"),
        Arguments.of(one + "nextRuns: []", "line 3: unknown field \"nextRuns\""),
        Arguments.of(one + "key: 42", "line 3: key must be text; put it in quotes"),
        Arguments.of(one + "every: 90", "line 3: every must be a duration such as 90s"),
        Arguments.of(one + "maxRuns: '5'", "line 3: maxRuns must be a whole number"),
        Arguments.of(one + "maxRuns: 1.5", "line 3: maxRuns must be a whole number"),
        Arguments.of(one + "payload: .inf", "line 3: \".inf\" is not a decimal number;"),
        Arguments.of(one + "payload: [1, -.INF]", "line 3: \"-.INF\" is not a decimal number"),
        Arguments.of(one + "payload:\n      a: .nan", "line 4: \".nan\" is not a decimal number"),
        Arguments.of(one + "payload: .NaN", "line 3: \".NaN\" is not a decimal number;"),
        Arguments.of(one + "maxRuns: 0x10", "line 3: \"0x10\" is not a decimal number;"),
        Arguments.of(one + "payload: {a: 0o17}", "line 3: \"0o17\" is not a decimal number"),
        Arguments.of(one + "name: ~", "line 3: "),
        Arguments.of("schedules:\n  - name: ~", "line 2: name must be text"),
        Arguments.of(one + "paused: yes", "line 3: paused must be true or false"),
        Arguments.of(one + "target: http", "line 3: target must be a list of"),
        Arguments.of(one + "cron: a\n    cron: b", "line 4: "),
        Arguments.of(one + "payload: {a: 1, a: 2}", "line 3: "),
        Arguments.of(one + "payload: &x {a: 1}", "line 3: anchors and aliases"),
        Arguments.of(one + "payload: *x", "line 3: anchors and aliases"),
        Arguments.of(one + "cron: *5 * * * *", "line 3: anchors and aliases"),
        Arguments.of(one + "cron: * * * * *", "line 3: is not YAML: while scanning an alias,"),
        Arguments.of("schedules:\n\t- name: a", "line 2: is not YAML: while scanning for"),
        Arguments.of(one + "payload: !!binary aGk=", "line 3: tags (!) are not supported"),
        Arguments.of(one + "payload: !java.io.File {}", "line 3: tags (!) are not supported"),
        Arguments.of(one + "cron: @daily", "; a text that starts like this needs quotes"),
        Arguments.of(one + "  cron: x\n   type: t", "line 3: "),
        Arguments.of(one + "cron: [1", "f.yaml: line "),
        Arguments.of(one + "? [a]\n    : b", "line 3: "),
        Arguments.of(one + "payload: " + "[".repeat(101) + "]".repeat(101), "nested too deeply"),
        Arguments.of(one + "payload: " + "[".repeat(100_000), "line 3: "));
  }

  @ParameterizedTest
  @MethodSource("errors")
  void an_error_names_its_line(String text, String message) {
    assertThatThrownBy(() -> read(text))
        .isInstanceOf(CommandFailed.class)
        .message()
        .startsWith("f.yaml: ")
        .contains(message)
        .hasLineCount(1)
        .doesNotContain("java.", "BigDecimal")
        .hasSizeLessThan(300);
  }
}
