package carillon.model.cron;

import carillon.model.Echo;
import carillon.model.KeyText;
import carillon.model.cron.CronPart.Span;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Parses one field of a cron expression: numbers, names, ranges, steps, lists, {@code H} (a hash of
 * the schedule's name) and the special entries of the day fields.
 */
final class CronFieldParser {

  private static final Pattern HASHED =
      Pattern.compile("H(?:\\(([0-9]+)-([0-9]+)\\))?(?:/([0-9]+))?");
  private static final Pattern SPAN = Pattern.compile("(\\*|[0-9]+)(?:-([0-9]+))?(?:/([0-9]+))?");
  private static final Pattern BEFORE_LAST = Pattern.compile("L-([0-9]+)");
  private static final Pattern NEAREST = Pattern.compile("([0-9]+)W");
  private static final Pattern LAST = Pattern.compile("([0-9]+)L");
  private static final Pattern NTH = Pattern.compile("([0-9]+)#([0-9]+)");

  private final CronField field;
  private final String scheduleName;

  CronFieldParser(CronField field, String scheduleName) {
    this.field = field;
    this.scheduleName = scheduleName;
  }

  /** Expects capital letters. */
  List<CronPart> parse(String text) throws InvalidField {
    if (text.equals("?") && field.isDay()) {
      return List.of(new Span(field.min(), field.max(), 1));
    }
    List<CronPart> parts = new ArrayList<>();
    for (String entry : text.split(",", -1)) {
      parts.add(entry.startsWith("H") ? hashed(entry) : entry(entry));
    }
    return parts;
  }

  private Span hashed(String entry) throws InvalidField {
    Matcher matcher = HASHED.matcher(entry);
    if (!matcher.matches()) {
      throw invalid("%s is invalid; write H, H/15, H(0-29) or H(0-29)/10", entry);
    }
    if (scheduleName.isEmpty()) {
      throw invalid("%s is a hash of the schedule's name, which is missing", entry);
    }
    int from = number(matcher.group(1), field.min());
    int to = number(matcher.group(2), field.maxHashed());
    int step = number(matcher.group(3), to - from + 1);
    if (from < field.min() || to > field.maxHashed()) {
      throw invalid(
          "%s is out of range; H must stay within " + field.min() + "-" + field.maxHashed(), entry);
    }
    if (from > to) {
      throw invalid("the range of %s runs backwards", entry);
    }
    if (step < 1 || step > to - from + 1) {
      throw invalid("the step of %s is out of range (1-" + (to - from + 1) + ")", entry);
    }
    int first = from + hash(step);
    return matcher.group(3) == null ? new Span(first, first, 1) : new Span(first, to, step);
  }

  /** Below the bound, and always the same for this field of this schedule. */
  private int hash(int bound) {
    byte[] hash = KeyText.sha256(field.label() + " of " + scheduleName);
    return Math.floorMod(ByteBuffer.wrap(hash).getInt(), bound);
  }

  private CronPart entry(String entry) throws InvalidField {
    String plain = inNumbers(entry);
    CronPart special =
        switch (field) {
          case DAY_OF_MONTH -> specialDayOfMonth(entry);
          case DAY_OF_WEEK -> specialDayOfWeek(entry, plain);
          case SECOND, MINUTE, HOUR, MONTH -> null;
        };
    return special == null ? span(entry, plain) : special;
  }

  private @Nullable CronPart specialDayOfMonth(String entry) throws InvalidField {
    if (entry.equals("L")) {
      return new CronPart.LastDay(0);
    }
    if (entry.equals("LW")) {
      return new CronPart.LastWorkday();
    }
    Matcher beforeLast = BEFORE_LAST.matcher(entry);
    if (beforeLast.matches()) {
      int days = number(beforeLast.group(1), 0);
      if (days < 1 || days > 30) {
        throw invalid(
            "%s is out of range; L-1 to L-30 count back from the last day of the month", entry);
      }
      return new CronPart.LastDay(days);
    }
    Matcher nearest = NEAREST.matcher(entry);
    return nearest.matches() ? new CronPart.NearestWorkday(value(nearest.group(1), entry)) : null;
  }

  private @Nullable CronPart specialDayOfWeek(String entry, String plain) throws InvalidField {
    Matcher last = LAST.matcher(plain);
    if (last.matches()) {
      return new CronPart.LastOfMonth(value(last.group(1), entry) % 7);
    }
    Matcher nth = NTH.matcher(plain);
    if (!nth.matches()) {
      return null;
    }
    int count = number(nth.group(2), 0);
    if (count < 1 || count > 5) {
      throw invalid("%s is out of range; #1 to #5 count within a month", entry);
    }
    return new CronPart.NthOfMonth(value(nth.group(1), entry) % 7, count);
  }

  private Span span(String entry, String plain) throws InvalidField {
    Matcher matcher = SPAN.matcher(plain);
    if (!matcher.matches()) {
      throw invalid(whyNotSpan(entry), entry);
    }
    boolean all = matcher.group(1).equals("*");
    boolean hasEnd = matcher.group(2) != null;
    if (all && hasEnd) {
      throw invalid("%s is not a range; * already means all values", entry);
    }
    int from = all ? field.min() : value(matcher.group(1), entry);
    int to = hasEnd ? value(matcher.group(2), entry) : from;
    if (from > to) {
      throw invalid("the range %s runs backwards", entry);
    }
    int step = number(matcher.group(3), 1);
    if (step < 1 || step > field.size()) {
      throw invalid("the step of %s is out of range (1-" + field.size() + ")", entry);
    }
    if (hasEnd) {
      return new Span(from, to, step);
    }
    // In 5/10, the 5 is the first value and the range is open-ended.
    boolean isOpenEnded = all || matcher.group(3) != null;
    int first = from > field.max() ? field.min() : from;
    return new Span(first, isOpenEnded ? field.max() : first, step);
  }

  private String whyNotSpan(String entry) {
    if (entry.isEmpty()) {
      return "an entry is empty; write a list as 1,2,3";
    }
    if (entry.contains("?")) {
      return field.isDay() ? "? must stand alone" : "? is allowed in day fields only; write *";
    }
    if (entry.indexOf('/') != entry.lastIndexOf('/')) {
      return "%s has two steps; write */5 or 1-30/5";
    }
    if (entry.indexOf('-') != entry.lastIndexOf('-')) {
      return "%s is not a range; write 1-5";
    }
    if (entry.startsWith("-") || entry.endsWith("-")) {
      return "%s is not a range; write 1-5, without negative numbers";
    }
    return switch (field) {
      case DAY_OF_MONTH -> "%s is invalid; use numbers, L, L-3, LW or 15W";
      case DAY_OF_WEEK -> "%s is invalid; use numbers, names, 5L or 5#2";
      case MONTH -> "%s is neither a number nor a name";
      case SECOND, MINUTE, HOUR -> "%s is not a number";
    };
  }

  /** Replaces names by numbers. At the end of a range, Sunday is 7: SAT-SUN is 6-7. */
  private String inNumbers(String entry) {
    String plain = entry;
    for (int i = 0; i < field.names().size(); i++) {
      String name = field.names().get(i);
      if (plain.contains(name)) {
        String number = String.valueOf(field.min() + i);
        String alone = "(?![A-Z0-9])";
        String last = field == CronField.DAY_OF_WEEK ? "(?=L?" + alone + ")" : alone;
        plain = plain.replaceAll("-" + name + alone, number.equals("0") ? "-7" : "-" + number);
        plain = plain.replaceAll("(?<![A-Z0-9])" + name + last, number);
      }
    }
    return plain;
  }

  private int value(String digits, String entry) throws InvalidField {
    int value = number(digits, 0);
    if (value < field.min() || value > field.maxWritten()) {
      throw invalid("%s is out of range", entry);
    }
    return value;
  }

  /** Longer numbers are out of every range. */
  private static int number(@Nullable String digits, int absent) {
    if (digits == null) {
      return absent;
    }
    return digits.length() > 4 ? 10_000 : Integer.parseInt(digits);
  }

  private InvalidField invalid(String why, String entry) {
    String problem = why.replace("%s", Echo.of(entry));
    return new InvalidField("%s (%s): %s".formatted(field.label(), field.range(), problem));
  }

  /** Its message is shown to people. */
  static final class InvalidField extends Exception {

    private static final long serialVersionUID = 1;

    private final String problem;

    InvalidField(String problem) {
      super(problem, null, false, false);
      this.problem = problem;
    }

    String problem() {
      return problem;
    }
  }
}
