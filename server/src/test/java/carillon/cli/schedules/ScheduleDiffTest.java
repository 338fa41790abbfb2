package carillon.cli.schedules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import carillon.cli.ApiCommand;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

class ScheduleDiffTest {

  /** The response for a schedule with only a cron expression and a type. */
  private static final String PRESENT =
      """
      {"name": "n", "type": "t", "cron": "@daily", "every": null, "description": "At 00:00 every day",
       "timezone": "UTC", "timezoneData": "2025b", "dst": {"gap": "shift", "overlap": "first"},
       "overlap": "skip", "catchUp": "last", "catchUpLimit": 100, "catchUpWindow": "PT168H",
       "jitter": "PT0S", "startAt": null, "endAt": null, "maxRuns": null, "pauseAfterFailures": null,
       "paused": true, "pausedReason": "r", "status": "PAUSED", "key": null, "priority": null,
       "payload": null, "target": null, "retry": null, "version": 3, "nextRuns": []}
      """;

  private static ObjectNode json(String text) {
    return (ObjectNode) ApiCommand.JSON.readTree(text);
  }

  /** The differences between a response and a file. */
  private static List<ScheduleDiff.Difference> between(String present, String wanted) {
    ObjectNode shown = json(PRESENT);
    shown.setAll(json(present));
    ObjectNode file = json("{\"cron\": \"@daily\", \"type\": \"t\"}");
    file.setAll(json(wanted));
    return ScheduleDiff.between(file, shown);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | {}",
        "{} | {\"timezone\": \"UTC\", \"overlap\": \"skip\", \"catchUp\": \"last\", \"jitter\":"
            + " \"0s\"}",
        "{} | {\"catchUpLimit\": 100, \"catchUpWindow\": \"7d\", \"dst\": {\"gap\": \"shift\"},"
            + " \"paused\": true}",
        "{\"paused\": false} | {}",
        "{\"jitter\": \"PT1M30S\"} | {\"jitter\": \"90s\"}",
        "{\"startAt\": \"2027-01-01T00:00:00.000Z\"} | {\"startAt\":"
            + " \"2027-01-01T02:00:00+02:00\"}",
        "{\"payload\": {\"a\": 1.0, \"b\": [1]}} | {\"payload\": {\"b\": [1], \"a\": 1.00}}",
        "{\"retry\": {\"maxAttempts\": 3, \"backoff\": \"exponential\", \"base\": \"PT1S\","
            + " \"max\": \"PT1H\", \"jitter\": \"full\"}} | {\"retry\": {\"maxAttempts\": 3,"
            + " \"max\": \"60m\"}}",
        "{\"target\": {\"http\": {\"url\": \"http://x\", \"method\": \"POST\", \"timeout\":"
            + " \"PT5S\"}}} | {\"target\": {\"http\": {\"url\": \"http://x\", \"timeout\": \"5s\","
            + " \"headers\": {}}}}",
        "{\"target\": {\"discard\": {}}} | {\"target\": {\"discard\": {}}}",
      })
  void equivalent_values_are_equal(String present, String wanted) {
    assertThat(between(present, wanted)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | {\"cron\": \"@hourly\"} | cron | \"@daily\" | \"@hourly\"",
        "{\"timezone\": \"Asia/Tokyo\"} | {} | timezone | \"Asia/Tokyo\" | \"UTC\"",
        "{\"catchUpLimit\": 5} | {} | catchUpLimit | 5 | 100",
        "{\"key\": \"k\"} | {} | key | \"k\" | null",
        "{} | {\"paused\": false} | paused | true | false",
        "{} | {\"jitter\": \"often\"} | jitter | \"PT0S\" | \"often\"",
        "{} | {\"dst\": {\"gap\": \"skip\"}} | dst.gap | \"shift\" | \"skip\"",
        "{} | {\"payload\": {\"a\": 1}} | payload | null | {\"a\":1}",
        "{\"payload\": 9007199254740993} | {\"payload\": 9007199254740992} | payload |"
            + " 9007199254740993 | 9007199254740992",
        "{\"payload\": \"1\"} | {\"payload\": 1} | payload | \"1\" | 1",
        "{\"target\": {\"http\": {\"url\": \"http://x\", \"method\": \"PUT\"}}} | {\"target\":"
            + " {\"http\": {\"url\": \"http://x\"}}} | target.http.method | \"PUT\" | \"POST\"",
        "{\"target\": {\"http\": {\"url\": \"http://x?token=a\", \"method\": \"POST\"}}} |"
            + " {\"target\": {\"http\": {\"url\": \"http://y?token=b\"}}} | target.http.url |"
            + " \"http://x?token=(hidden)\" | \"http://y?token=(hidden)\"",
      })
  void a_difference_has_its_path_and_both_values(
      String present, String wanted, String path, String from, String to) {
    assertThat(between(present, wanted))
        .singleElement()
        .satisfies(
            difference -> {
              assertThat(difference.path()).isEqualTo(path);
              assertThat(difference.from()).hasToString(from);
              assertThat(difference.to()).hasToString(to);
              assertThat(difference.isHidden()).isFalse();
            });
  }

  @Test
  void header_values_are_not_shown() {
    String http = "{\"target\": {\"http\": {\"url\": \"http://x\", \"method\": \"POST\"%s}}}";
    String headers = http.formatted(", \"headers\": {\"x-key\": \"%s\"}");

    assertThat(between(headers.formatted("one"), headers.formatted("two")))
        .extracting(ScheduleDiff.Difference::path, ScheduleDiff.Difference::isHidden)
        .containsExactly(tuple("target.http.headers.x-key", true));
    assertThat(between(http.formatted(""), headers.formatted("two")))
        .singleElement()
        .matches(ScheduleDiff.Difference::isHidden);
  }

  @Test
  void a_hidden_value_is_unknown_and_not_a_difference() {
    String http = "{\"target\": {\"http\": {\"url\": \"http://x?token=%s\", \"method\": \"POST\",";
    String headers = " \"headers\": {\"x-key\": \"%s\"}, \"secretHeaders\": [%s]}}}";
    ObjectNode present = json(PRESENT);
    present.setAll(json((http + headers).formatted("(hidden)", "(hidden)", "\"b\", \"a\"")));
    ObjectNode wanted = json("{\"cron\": \"@daily\", \"type\": \"t\"}");
    wanted.setAll(json((http + headers).formatted("one", "two", "\"a\", \"b\"")));

    assertThat(ScheduleDiff.between(wanted, present)).isEmpty();
    assertThat(ScheduleDiff.unknown(wanted, present))
        .extracting(ScheduleDiff.Difference::path)
        .containsExactly("target.http.headers.x-key", "target.http.url");
    assertThat(ScheduleDiff.unknown(present.deepCopy(), present)).isEmpty();
  }

  @Test
  void a_cron_that_becomes_an_interval_is_two_differences() {
    ObjectNode wanted = json("{\"every\": \"90s\", \"type\": \"t\"}");

    assertThat(ScheduleDiff.between(wanted, json(PRESENT)))
        .extracting(ScheduleDiff.Difference::path)
        .containsExactly("cron", "every");
  }

  @Test
  void a_target_of_another_kind_is_different() {
    JsonNode present = json(PRESENT).set("target", json("{\"pull\": {}}"));

    assertThat(
            ScheduleDiff.between(
                json("{\"cron\": \"@daily\", \"type\": \"t\", \"target\": {\"discard\": {}}}"),
                present))
        .extracting(ScheduleDiff.Difference::path)
        .containsExactly("target.discard", "target.pull");
  }
}
