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

  private static Reading.Refused refused(String cron) {
    return switch (Recurrence.read(cron, "nightly")) {
      case Reading.Refused refused -> refused;
      case Reading.Good(Recurrence recurrence) -> fail(cron + " is " + recurrence.description());
    };
  }

  private static String described(String cron, String name) {
    return switch (Recurrence.read(cron, name)) {
      case Reading.Refused refused -> fail(cron + ": " + refused.message());
      case Reading.Good(Recurrence recurrence) -> recurrence.description();
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
  void what_has_not_five_or_six_fields_divided_by_spaces_is_refused(String cron) {
    assertThat(refused(cron).code()).isEqualTo("cron_field_count");
  }

  @Test
  void the_message_counts_the_fields() {
    assertThat(refused("0 0 * *").message())
        .isEqualTo(
            "a cron expression has 5 fields (minute, hour, day of month, month, day of week), or 6"
                + " with the second before them; this one has 4");
    assertThat(refused("0 0 *\t*").message())
        .isEqualTo("fields are divided by spaces only, and there is \\u0009 at position 6");
  }

  @Test
  void more_than_256_characters_are_refused_unread() {
    String longest = "0,".repeat(123) + "0 * * * *";

    assertThat(refused("* ".repeat(2_500)).code()).isEqualTo("too_long");
    assertThat(refused(longest + " ".repeat(257 - longest.length())).code()).isEqualTo("too_long");
    assertThat(described(longest + " ".repeat(256 - longest.length()), "")).isEqualTo("Every hour");
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
        "*/0 * * * *       | minute (0-59): the step of */0 is out of range, which is 1-60",
        "*/61 * * * *      | minute (0-59): the step of */61 is out of range, which is 1-60",
        "0 */25 * * *      | hour (0-23): the step of */25 is out of range, which is 1-24",
        "5-1 * * * *       | minute (0-59): the range 5-1 runs backwards",
        "* * * * FRI-MON   | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): the range FRI-MON"
            + " runs backwards",
        "* * * * 7-3       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): the range 7-3 runs"
            + " backwards",
        "1-2-3 * * * *     | minute (0-59): 1-2-3 is not a range, which is written as 1-5",
        "1/2/3 * * * *     | minute (0-59): 1/2/3 has two steps; one is written as */5 or 1-30/5",
        ", * * * *         | minute (0-59): an entry is empty; lists are written as 1,2,3",
        "1,,2 * * * *      | minute (0-59): an entry is empty; lists are written as 1,2,3",
        "1, * * * *        | minute (0-59): an entry is empty; lists are written as 1,2,3",
        "*-5 * * * *       | minute (0-59): *-5 is not a range: * is all of it already",
        "-1 * * * *        | minute (0-59): -1 is not a range, which is written as 1-5; nothing is"
            + " below zero",
        "1- * * * *        | minute (0-59): 1- is not a range, which is written as 1-5; nothing is"
            + " below zero",
        "-- * * * *        | minute (0-59): -- is not a range, which is written as 1-5",
        "/5 * * * *        | minute (0-59): /5 is not a number",
        "5/ * * * *        | minute (0-59): 5/ is not a number",
        "** * * * *        | minute (0-59): ** is not a number",
        "1.5 * * * *       | minute (0-59): 1.5 is not a number",
        "+5 * * * *        | minute (0-59): +5 is not a number",
        "? * * * *         | minute (0-59): ? is for days only; write *",
        "* * * ? *         | month (1-12 or JAN-DEC): ? is for days only; write *",
        "* * ?,1 * *       | day of month (1-31): ? stands alone",
        "* L * * *         | hour (0-23): L is not a number",
        "* * * 1L *        | month (1-12 or JAN-DEC): 1L is neither a number nor a name",
        "* * * JANUARY *   | month (1-12 or JAN-DEC): JANUARY is neither a number nor a name",
        "* * * MON *       | month (1-12 or JAN-DEC): MON is neither a number nor a name",
        "* * * * JAN       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): JAN is not known;"
            + " beside numbers and names there are 5L and 5#2",
        "* * * * L         | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): L is not known;"
            + " beside numbers and names there are 5L and 5#2",
        "* * * * 1MON      | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 1MON is not known;"
            + " beside numbers and names there are 5L and 5#2",
        "* * * * MON1      | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): MON1 is not known;"
            + " beside numbers and names there are 5L and 5#2",
        "* * * * 8L        | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 8L is out of range",
        "* * * * 8#1       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 8#1 is out of range",
        "* * * * 1#6       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 1#6 is out of range:"
            + " #1 to #5 count the days of a month",
        "* * * * 1#0       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 1#0 is out of range:"
            + " #1 to #5 count the days of a month",
        "* * * * 15W       | day of week (0-7 or SUN-SAT, 0 and 7 are Sunday): 15W is not known;"
            + " beside numbers and names there are 5L and 5#2",
        "* * W * *         | day of month (1-31): W is not known; beside numbers there are L, L-3,"
            + " LW and 15W",
        "* * WL * *        | day of month (1-31): WL is not known; beside numbers there are L, L-3,"
            + " LW and 15W",
        "* * 32W * *       | day of month (1-31): 32W is out of range",
        "* * 0W * *        | day of month (1-31): 0W is out of range",
        "* * L-31 * *      | day of month (1-31): L-31 is out of range: L-1 to L-30 are days before"
            + " the last of a month",
        "* * 1-L * *       | day of month (1-31): 1-L is not known; beside numbers there are L,"
            + " L-3, LW and 15W",
        "* * L/2 * *       | day of month (1-31): L/2 is not known; beside numbers there are L,"
            + " L-3, LW and 15W",
        "* * 5#2 * *       | day of month (1-31): 5#2 is not known; beside numbers there are L,"
            + " L-3, LW and 15W",
        "H(0-60) * * * *   | minute (0-59): H(0-60) is out of range: H stays within 0-59",
        "* * H(1-31) * *   | day of month (1-31): H(1-31) is out of range: H stays within 1-28",
        "H(9-5) * * * *    | minute (0-59): the range of H(9-5) runs backwards",
        "H/0 * * * *       | minute (0-59): the step of H/0 is out of range, which is 1-60",
        "H(0-9)/11 * * * * | minute (0-59): the step of H(0-9)/11 is out of range, which is 1-10",
        "H-5 * * * *       | minute (0-59): H-5 is not known; H is written as H, H/15, H(0-29) or"
            + " H(0-29)/10",
        "HH * * * *        | minute (0-59): HH is not known; H is written as H, H/15, H(0-29) or"
            + " H(0-29)/10",
        "<b> * * * *       | minute (0-59): \\u003cB\\u003e is not a number"
      })
  void a_bad_field_is_refused_with_its_name_its_range_and_why(String cron, String message) {
    assertThat(refused(cron)).isEqualTo(new Reading.Refused("invalid_cron", message));
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
  void what_is_no_expression_of_ours_is_refused(String cron) {
    assertThat(refused(cron).code()).isEqualTo("invalid_cron");
    assertThat(refused(cron).message()).doesNotContain("Exception", "Failed to parse");
  }

  @Test
  void an_unknown_nickname_is_told_which_there_are() {
    assertThat(refused("@reboot").message())
        .isEqualTo(
            "@reboot is not known; there are @yearly, @annually, @monthly, @weekly, @daily,"
                + " @midnight, @hourly and @every 90s");
  }

  @ParameterizedTest
  @ValueSource(strings = {"@every 999ms", "@every 0s", "@every PT0S"})
  void more_often_than_once_a_second_is_too_often(String cron) {
    assertThat(refused(cron).code()).isEqualTo("interval_too_short");
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
  void a_hash_is_always_the_same_for_a_name() {
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
            new Reading.Refused(
                "invalid_cron",
                "minute (0-59): H needs the schedule's name, of which it is a hash"));
  }

  @Test
  void whatever_passes_the_check_is_understood_as_it_was_meant() {
    for (CronField field : CronField.values()) {
      var parser = new CronFieldParser(field, "nightly");
      for (int a = 0; a <= 70; a++) {
        understood(field, parser, "*/" + a);
        understood(field, parser, String.valueOf(a));
        for (int b = 0; b <= 70; b++) {
          understood(field, parser, a + "/" + b);
          understood(field, parser, a + "-" + b);
          understood(field, parser, a + "-" + b + "/" + (1 + (a + b) % 7));
        }
        for (String special : List.of(a + "W", a + "L", "L-" + a, "L", "LW", "2#" + a, a + "#3")) {
          understood(field, parser, special);
        }
      }
    }
  }

  private static void understood(CronField field, CronFieldParser parser, String entry) {
    List<CronPart> parts;
    try {
      parts = parser.parse(entry);
    } catch (CronFieldParser.InvalidField _) {
      return;
    }
    var fields = new CronFields(Map.of(field, parts), true);

    assertThat(parts).as("%s %s", field, entry).hasSize(1);
    if (entry.matches("[0-9/*-]+")) {
      assertThat(fields.values(field)).as("%s %s", field, entry).isEqualTo(meant(field, entry));
    } else {
      assertThat(fields.values(field)).as("%s %s", field, entry).isZero();
    }
  }

  private static long meant(CronField field, String entry) {
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
