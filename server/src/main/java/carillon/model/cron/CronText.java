package carillon.model.cron;

import carillon.model.Durations;
import carillon.model.Echo;
import carillon.model.cron.Recurrence.Reading;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** Parses the text of a cron expression. */
final class CronText {

  private static final Map<String, String> NICKNAMES =
      Map.of(
          "@yearly", "0 0 1 1 *",
          "@annually", "0 0 1 1 *",
          "@monthly", "0 0 1 * *",
          "@weekly", "0 0 * * 0",
          "@daily", "0 0 * * *",
          "@midnight", "0 0 * * *",
          "@hourly", "0 * * * *");

  private static final String EVERY = "@every";
  private static final Pattern SPACES = Pattern.compile(" +");

  private CronText() {}

  static Reading read(String text, String scheduleName) {
    if (text.length() > Recurrence.MAX_CHARACTERS) {
      return new Reading.Invalid(
          "too_long",
          "a cron expression has at most %d characters; this one has %d"
              .formatted(Recurrence.MAX_CHARACTERS, text.length()));
    }
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < ' ' || c > '~') {
        return unexpected(c, i);
      }
    }
    String trimmed = text.strip();
    return trimmed.startsWith("@")
        ? nickname(trimmed, scheduleName)
        : fields(trimmed, scheduleName);
  }

  private static Reading unexpected(char c, int index) {
    String where = "%s at position %d".formatted(Echo.of(String.valueOf(c)), index + 1);
    return Character.isWhitespace(c) || Character.isSpaceChar(c)
        ? new Reading.Invalid(
            "cron_field_count", "fields must be separated by spaces; found " + where)
        : invalid("unexpected character " + where);
  }

  private static Reading nickname(String text, String scheduleName) {
    List<String> words = List.of(SPACES.split(text));
    String word = words.getFirst().toLowerCase(Locale.ROOT);
    if (word.equals(EVERY)) {
      return words.size() == 2
          ? Every.read(words.get(1))
          : invalid("@every takes " + Durations.RULE + ", such as @every 90s");
    }
    String fields = words.size() == 1 ? NICKNAMES.get(word) : null;
    return fields == null
        ? invalid(
            Echo.of(text)
                + " is unknown; use @yearly, @annually, @monthly, @weekly, @daily, @midnight,"
                + " @hourly or @every 90s")
        : fields(fields, scheduleName);
  }

  private static Reading fields(String all, String scheduleName) {
    List<String> written = all.isEmpty() ? List.of() : List.of(SPACES.split(all));
    if (written.size() != 5 && written.size() != 6) {
      return new Reading.Invalid(
          "cron_field_count",
          ("a cron expression has 5 fields (minute, hour, day of month, month, day of week), or 6"
                  + " with the second before them; this one has %d")
              .formatted(written.size()));
    }
    List<String> sixFields = new ArrayList<>(written);
    if (written.size() == 5) {
      sixFields.addFirst("0");
    }
    Map<CronField, List<CronPart>> parts = new EnumMap<>(CronField.class);
    boolean bothDays = false;
    Iterator<String> texts = sixFields.iterator();
    for (CronField field : CronField.values()) {
      String text = texts.next().toUpperCase(Locale.ROOT);
      try {
        parts.put(field, new CronFieldParser(field, scheduleName).parse(text));
      } catch (CronFieldParser.InvalidField e) {
        return invalid(e.problem());
      }
      bothDays |= field.isDay() && isStar(text);
    }
    return check(new CronFields(parts, bothDays));
  }

  private static boolean isStar(String field) {
    return field.startsWith("*") || field.equals("?");
  }

  private static Reading check(CronFields fields) {
    var calendar = new CronCalendar(fields);
    return calendar.fires()
        ? new Reading.Valid(new Cron(fields, calendar))
        : new Reading.Invalid("never_fires", neverFires(fields));
  }

  private static String neverFires(CronFields fields) {
    return fields.bothDays() && !fields.isOpen(CronField.DAY_OF_WEEK)
        ? "it would never fire: no day of its months matches both day of month and day of week"
        : "it would never fire: none of its months has such a day of month";
  }

  private static Reading invalid(String message) {
    return new Reading.Invalid("invalid_cron", message);
  }
}
