package carillon.model.cron;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import carillon.model.cron.Recurrence.Reading;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CronTextTest {

  private static Reading.Invalid invalid(String cron) {
    return switch (Recurrence.read(cron, "nightly")) {
      case Reading.Invalid invalid -> invalid;
      case Reading.Valid(Recurrence recurrence) -> fail(cron + " is " + recurrence.description());
    };
  }

  private static String described(String cron, String name) {
    return switch (Recurrence.read(cron, name)) {
      case Reading.Invalid invalid -> fail(cron + ": " + invalid.message());
      case Reading.Valid(Recurrence recurrence) -> recurrence.description();
    };
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "*",
        "* * * *",
        "* * * * * * *",
        "0 0 12 ? * MON 2027",
        "* * * * * * * *",
        "0 0 * *\t*",
        "0 0 * * *\n",
        "\n",
        "0 0\r\n* * *",
        "0 0 *\u00a0* *"
      })
  void an_expression_must_have_five_or_six_fields_separated_by_spaces(String cron) {
    assertThat(invalid(cron).code()).isEqualTo("cron_field_count");
  }

  @Test
  void the_message_counts_the_fields() {
    assertThat(invalid("0 0 * *").message())
        .isEqualTo(
            "a cron expression has 5 fields (minute, hour, day of month, month, day of week), or 6"
                + " with the second before them; this one has 4");
    assertThat(invalid("0 0 *\t*").message())
        .isEqualTo("fields must be separated by spaces; found \\u0009 at position 6");
  }

  @Test
  void more_than_256_characters_are_rejected_without_parsing() {
    String cron = "0,".repeat(123) + "0 * * * *";

    assertThat(invalid("* ".repeat(2_500)).code()).isEqualTo("too_long");
    assertThat(invalid(cron + " ".repeat(257 - cron.length())).code()).isEqualTo("too_long");
    assertThat(described(cron + " ".repeat(256 - cron.length()), "")).isEqualTo("Every hour");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "60 * * * *        | minute (0-59): 60 is out of range",
        "60 0 0 * * *      | second (0-59): 60 is out of range",
        "* 24 * * *        | hour (0-23): 24 is out of range",
        "* * 32 * *        | day of month (1-31): 32 is out of range",
        "* * 0 * *         | day of month (1-31): 0 is out of range",
        "* * * 13 *        | month (1-12 or JAN-DEC): 13 is out of range",
        "* * * 0 *         | month (1-12 or JAN-DEC): 0 is out of range",
        "* * * * 8         | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 8 is out of range",
        "0-60 * * * *      | minute (0-59): 0-60 is out of range",
        "99999999999 * * * * | minute (0-59): 99999999999 is out of range",
        "*/0 * * * *       | minute (0-59): the step of */0 is out of range (1-60)",
        "*/61 * * * *      | minute (0-59): the step of */61 is out of range (1-60)",
        "0 */25 * * *      | hour (0-23): the step of */25 is out of range (1-24)",
        "5-1 * * * *       | minute (0-59): the range 5-1 runs backwards",
        "* * * * FRI-MON   | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): the range FRI-MON"
            + " runs backwards",
        "* * * * 7-3       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): the range 7-3 runs"
            + " backwards",
        "1-2-3 * * * *     | minute (0-59): 1-2-3 is not a range; write 1-5",
        "1/2/3 * * * *     | minute (0-59): 1/2/3 has two steps; write */5 or 1-30/5",
        ", * * * *         | minute (0-59): an entry is empty; write a list as 1,2,3",
        "1,,2 * * * *      | minute (0-59): an entry is empty; write a list as 1,2,3",
        "1, * * * *        | minute (0-59): an entry is empty; write a list as 1,2,3",
        "*-5 * * * *       | minute (0-59): *-5 is not a range; * already means all values",
        "-1 * * * *        | minute (0-59): -1 is not a range; write 1-5, without negative"
            + " numbers",
        "1- * * * *        | minute (0-59): 1- is not a range; write 1-5, without negative"
            + " numbers",
        "-- * * * *        | minute (0-59): -- is not a range; write 1-5",
        "/5 * * * *        | minute (0-59): /5 is not a number",
        "5/ * * * *        | minute (0-59): 5/ is not a number",
        "** * * * *        | minute (0-59): ** is not a number",
        "1.5 * * * *       | minute (0-59): 1.5 is not a number",
        "+5 * * * *        | minute (0-59): +5 is not a number",
        "? * * * *         | minute (0-59): ? is allowed in day fields only; write *",
        "* * * ? *         | month (1-12 or JAN-DEC): ? is allowed in day fields only; write *",
        "* * ?,1 * *       | day of month (1-31): ? must stand alone",
        "* L * * *         | hour (0-23): L is not a number",
        "* * * 1L *        | month (1-12 or JAN-DEC): 1L is neither a number nor a name",
        "* * * JANUARY *   | month (1-12 or JAN-DEC): JANUARY is neither a number nor a name",
        "* * * MON *       | month (1-12 or JAN-DEC): MON is neither a number nor a name",
        "* * * * JAN       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): JAN is invalid;"
            + " use numbers, names, 5L or 5#2",
        "* * * * L         | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): L is invalid;"
            + " use numbers, names, 5L or 5#2",
        "* * * * 1MON      | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 1MON is invalid;"
            + " use numbers, names, 5L or 5#2",
        "* * * * MON1      | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): MON1 is invalid;"
            + " use numbers, names, 5L or 5#2",
        "* * * * 8L        | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 8L is out of range",
        "* * * * 8#1       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 8#1 is out of range",
        "* * * * 1#6       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 1#6 is out of range;"
            + " #1 to #5 count within a month",
        "* * * * 1#0       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 1#0 is out of range;"
            + " #1 to #5 count within a month",
        "* * * * 15W       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 15W is invalid;"
            + " use numbers, names, 5L or 5#2",
        "* * W * *         | day of month (1-31): W is invalid; use numbers, L, L-3, LW or 15W",
        "* * WL * *        | day of month (1-31): WL is invalid; use numbers, L, L-3, LW or 15W",
        "* * 32W * *       | day of month (1-31): 32W is out of range",
        "* * 0W * *        | day of month (1-31): 0W is out of range",
        "* * L-31 * *      | day of month (1-31): L-31 is out of range; L-1 to L-30 count back from"
            + " the last day of the month",
        "* * 1-L * *       | day of month (1-31): 1-L is invalid; use numbers, L, L-3, LW or 15W",
        "* * L/2 * *       | day of month (1-31): L/2 is invalid; use numbers, L, L-3, LW or 15W",
        "* * 5#2 * *       | day of month (1-31): 5#2 is invalid; use numbers, L, L-3, LW or 15W",
        "H(0-60) * * * *   | minute (0-59): H(0-60) is out of range; H must stay within 0-59",
        "* * H(1-31) * *   | day of month (1-31): H(1-31) is out of range; H must stay within 1-28",
        "H(9-5) * * * *    | minute (0-59): the range of H(9-5) runs backwards",
        "H/0 * * * *       | minute (0-59): the step of H/0 is out of range (1-60)",
        "H(0-9)/11 * * * * | minute (0-59): the step of H(0-9)/11 is out of range (1-10)",
        "H-5 * * * *       | minute (0-59): H-5 is invalid; write H, H/15, H(0-29) or H(0-29)/10",
        "HH * * * *        | minute (0-59): HH is invalid; write H, H/15, H(0-29) or H(0-29)/10",
        "<b> * * * *       | minute (0-59): \\u003cB\\u003e is not a number"
      })
  void an_invalid_field_is_rejected_with_its_name_its_range_and_a_reason(
      String cron, String message) {
    assertThat(invalid(cron)).isEqualTo(new Reading.Invalid("invalid_cron", message));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "@reboot",
        "@",
        "@every",
        "@every 5m 3s",
        "@every soon",
        "@every -5s",
        "@every 367d",
        "@every PT1.0000001S",
        "@daily 5",
        "@weekday",
        "@hourly@",
        "0 0 1 1 *|0",
        "0 0 * * mö",
        "0 0 * * ١",
        "\u0000 * * * *",
        "0 0 1 1 ||"
      })
  void other_syntax_is_rejected(String cron) {
    assertThat(invalid(cron).code()).isEqualTo("invalid_cron");
    assertThat(invalid(cron).message()).doesNotContain("Exception", "Failed to parse");
  }

  @Test
  void the_error_for_an_unknown_nickname_lists_the_known_ones() {
    assertThat(invalid("@reboot").message())
        .isEqualTo(
            "@reboot is unknown; use @yearly, @annually, @monthly, @weekly, @daily, @midnight,"
                + " @hourly or @every 90s");
  }

  @ParameterizedTest
  @ValueSource(strings = {"@every 999ms", "@every 0s", "@every PT0S"})
  void an_interval_below_a_second_is_too_short(String cron) {
    assertThat(invalid(cron).code()).isEqualTo("interval_too_short");
  }

  @ParameterizedTest
  @CsvSource({
    "@yearly, 0 0 1 1 *",
    "@annually, 0 0 1 1 *",
    "@monthly, 0 0 1 * *",
    "@weekly, 0 0 * * 0",
    "@daily, 0 0 * * *",
    "@midnight, 0 0 * * *",
    "@hourly, 0 * * * *",
    "@Daily, 0 0 * * *"
  })
  void nicknames_stand_for_fields(String nickname, String cron) {
    assertThat(described(nickname, "")).isEqualTo(described(cron, ""));
  }

  @Test
  void a_hash_depends_only_on_the_name() {
    assertThat(described("H H H H H", "nightly")).isEqualTo(described("h h h h h", "nightly"));
    assertThat(described("H H * * *", "nightly")).isNotEqualTo(described("H H * * *", "weekly"));
  }

  @Test
  void hashes_spread_over_their_whole_range_and_stay_within_it() {
    List<String> names = Stream.iterate(0, i -> i + 1).limit(2_000).map(i -> "job-" + i).toList();

    assertThat(names.stream().map(name -> described("H 0 * * *", name)).distinct()).hasSize(60);
    assertThat(names.stream().map(name -> described("0 H * * *", name)).distinct()).hasSize(24);
    assertThat(names.stream().map(name -> described("0 0 H * *", name)).distinct()).hasSize(28);
    assertThat(names.stream().map(name -> described("0 0 1 H *", name)).distinct()).hasSize(12);
    assertThat(names.stream().map(name -> described("0 0 * * H", name)).distinct()).hasSize(7);
    assertThat(names.stream().map(name -> described("H(10-19) 0 * * *", name)).distinct())
        .hasSize(10)
        .allMatch(text -> text.matches("At 00:1[0-9] every day"));
    assertThat(names.stream().map(name -> described("H(0-29)/10 * * * *", name)).distinct())
        .hasSize(10)
        .contains("At minutes 3, 13 and 23 of every hour");
  }

  @Test
  void a_hash_needs_a_name() {
    assertThat(Recurrence.read("H * * * *", ""))
        .isEqualTo(
            new Reading.Invalid(
                "invalid_cron",
                "minute (0-59): H is a hash of the schedule's name, which is missing"));
  }

  @Test
  void every_accepted_entry_has_the_expected_values() {
    for (CronField field : CronField.values()) {
      var parser = new CronFieldParser(field, "nightly");
      for (int a = 0; a <= 70; a++) {
        checkMeaning(field, parser, "*/" + a);
        checkMeaning(field, parser, String.valueOf(a));
        for (int b = 0; b <= 70; b++) {
          checkMeaning(field, parser, a + "/" + b);
          checkMeaning(field, parser, a + "-" + b);
          checkMeaning(field, parser, a + "-" + b + "/" + (1 + (a + b) % 7));
        }
        for (String special : List.of(a + "W", a + "L", "L-" + a, "L", "LW", "2#" + a, a + "#3")) {
          checkMeaning(field, parser, special);
        }
      }
    }
  }

  private static void checkMeaning(CronField field, CronFieldParser parser, String entry) {
    List<CronPart> parts;
    try {
      parts = parser.parse(entry);
    } catch (CronFieldParser.InvalidField _) {
      return;
    }
    var fields = new CronFields(Map.of(field, parts), true);

    assertThat(parts).as("%s %s", field, entry).hasSize(1);
    if (entry.matches("[0-9/*-]+")) {
      assertThat(fields.values(field))
          .as("%s %s", field, entry)
          .isEqualTo(expectedValues(field, entry));
    } else {
      assertThat(fields.values(field)).as("%s %s", field, entry).isZero();
    }
  }

  private static long expectedValues(CronField field, String entry) {
    String[] parts = entry.split("/", -1);
    String[] ends = parts[0].split("-", -1);
    boolean all = ends[0].equals("*");
    int from = all ? field.min() : Integer.parseInt(ends[0]);
    int to = all ? field.max() : Integer.parseInt(ends[ends.length - 1]);
    if (parts.length == 2 && ends.length == 1) {
      from = from > field.max() ? field.min() : from;
      to = field.max();
    }
    int step = parts.length == 2 ? Integer.parseInt(parts[1]) : 1;
    long values = 0;
    for (int value = from; value <= to; value += step) {
      values |= 1L << (value > field.max() ? field.min() : value);
    }
    return values;
  }
}
