package carillon.model.cron;

import carillon.model.Echo;
import carillon.model.KeyText;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Checks one field of a cron expression and writes it in numbers: names become numbers, {@code H}
 * what the schedule's name makes of it, {@code ?} becomes {@code *}. What passes has one meaning
 * only, so that no library can take it for something else.
 */
final class CronSyntax {

  private static final Pattern HASHED =
      Pattern.compile("H(?:\\(([0-9]+)-([0-9]+)\\))?(?:/([0-9]+))?");
  private static final Pattern SPAN = Pattern.compile("(\\*|[0-9]+)(?:-([0-9]+))?(?:/([0-9]+))?");
  private static final Pattern BEFORE_LAST = Pattern.compile("L-([0-9]+)");
  private static final Pattern NEAREST = Pattern.compile("([0-9]+)W");
  private static final Pattern LAST = Pattern.compile("([0-9]+)L");
  private static final Pattern NTH = Pattern.compile("([0-9]+)#([0-9]+)");

  private final CronField field;
  private final String scheduleName;

  CronSyntax(CronField field, String scheduleName) {
    this.field = field;
    this.scheduleName = scheduleName;
  }

  /**
   * A field or an entry of it.
   *
   * @param plain in numbers
   * @param problem why it is refused, if it is
   */
  record Checked(String plain, @Nullable String problem) {

    private static Checked good(String plain) {
      return new Checked(plain, null);
    }
  }

  /** Takes capital letters only. */
  Checked check(String text) {
    if (text.equals("?") && isOfDays()) {
      return Checked.good("*");
    }
    List<String> plain = new ArrayList<>();
    for (String entry : text.split(",", -1)) {
      Checked checked = entry.startsWith("H") ? hashed(entry) : entry(entry);
      if (checked.problem() != null) {
        return checked;
      }
      plain.add(checked.plain());
    }
    return Checked.good(String.join(",", plain));
  }

  private boolean isOfDays() {
    return field == CronField.DAY_OF_MONTH || field == CronField.DAY_OF_WEEK;
  }

  private Checked hashed(String entry) {
    Matcher matcher = HASHED.matcher(entry);
    if (!matcher.matches()) {
      return bad("%s is not known; H is written as H, H/15, H(0-29) or H(0-29)/10", entry);
    }
    if (scheduleName.isEmpty()) {
      return bad("%s needs the schedule's name, of which it is a hash", entry);
    }
    int from = number(matcher.group(1), field.min());
    int to = number(matcher.group(2), field.maxHashed());
    int step = number(matcher.group(3), to - from + 1);
    if (from < field.min() || to > field.maxHashed()) {
      return bad(
          "%s is out of range: H stays within " + field.min() + "-" + field.maxHashed(), entry);
    }
    if (from > to) {
      return bad("the range of %s runs backwards", entry);
    }
    if (step < 1 || step > to - from + 1) {
      return bad("the step of %s is out of range, which is 1-" + (to - from + 1), entry);
    }
    int first = from + hash(step);
    return Checked.good(matcher.group(3) == null ? "" + first : first + "-" + to + "/" + step);
  }

  /** Less than the bound, and always the same for this field of this schedule. */
  private int hash(int bound) {
    byte[] hash = KeyText.sha256(field.label() + " of " + scheduleName);
    return Math.floorMod(ByteBuffer.wrap(hash).getInt(), bound);
  }

  private Checked entry(String entry) {
    String plain = inNumbers(entry);
    Checked special =
        switch (field) {
          case DAY_OF_MONTH -> specialDayOfMonth(entry);
          case DAY_OF_WEEK -> specialDayOfWeek(entry, plain);
          case SECOND, MINUTE, HOUR, MONTH -> null;
        };
    return special == null ? span(entry, plain) : special;
  }

  private @Nullable Checked specialDayOfMonth(String entry) {
    if (entry.equals("L") || entry.equals("LW")) {
      return Checked.good(entry);
    }
    Matcher beforeLast = BEFORE_LAST.matcher(entry);
    if (beforeLast.matches()) {
      int days = number(beforeLast.group(1), 0);
      return days >= 1 && days <= 30
          ? Checked.good("L-" + days)
          : bad("%s is out of range: L-1 to L-30 are days before the last of a month", entry);
    }
    Matcher nearest = NEAREST.matcher(entry);
    return nearest.matches() ? inRange(entry, entry, nearest.group(1)) : null;
  }

  private @Nullable Checked specialDayOfWeek(String entry, String plain) {
    Matcher last = LAST.matcher(plain);
    if (last.matches()) {
      return inRange(entry, plain, last.group(1));
    }
    Matcher nth = NTH.matcher(plain);
    if (!nth.matches()) {
      return null;
    }
    int count = number(nth.group(2), 0);
    return count >= 1 && count <= 5
        ? inRange(entry, plain, nth.group(1))
        : bad("%s is out of range: #1 to #5 count the days of a month", entry);
  }

  private Checked inRange(String entry, String plain, String number) {
    return isInRange(number(number, 0)) ? Checked.good(plain) : bad("%s is out of range", entry);
  }

  private Checked span(String entry, String plain) {
    Matcher matcher = SPAN.matcher(plain);
    if (!matcher.matches()) {
      return bad(whyNoSpan(entry), entry);
    }
    boolean all = matcher.group(1).equals("*");
    if (all && matcher.group(2) != null) {
      return bad("%s is not a range: * is all of it already", entry);
    }
    int from = all ? field.min() : number(matcher.group(1), 0);
    int to = number(matcher.group(2), from);
    if (!isInRange(from) || !isInRange(to)) {
      return bad("%s is out of range", entry);
    }
    if (from > to) {
      return bad("the range %s runs backwards", entry);
    }
    int step = number(matcher.group(3), 1);
    if (step < 1 || step > field.size()) {
      return bad("the step of %s is out of range, which is 1-" + field.size(), entry);
    }
    // The library knows no step of 60 minutes.
    return Checked.good(step > field.maxWritten() ? String.valueOf(from) : plain);
  }

  private String whyNoSpan(String entry) {
    if (entry.isEmpty()) {
      return "an entry is empty; lists are written as 1,2,3";
    }
    if (entry.contains("?")) {
      return isOfDays() ? "? stands alone" : "? is for days only; write *";
    }
    if (entry.indexOf('/') != entry.lastIndexOf('/')) {
      return "%s has two steps; one is written as */5 or 1-30/5";
    }
    if (entry.indexOf('-') != entry.lastIndexOf('-')) {
      return "%s is not a range, which is written as 1-5";
    }
    if (entry.startsWith("-") || entry.endsWith("-")) {
      return "%s is not a range, which is written as 1-5; nothing is below zero";
    }
    return switch (field) {
      case DAY_OF_MONTH -> "%s is not known; beside numbers there are L, L-3, LW and 15W";
      case DAY_OF_WEEK -> "%s is not known; beside numbers and names there are 5L and 5#2";
      case MONTH -> "%s is neither a number nor a name";
      case SECOND, MINUTE, HOUR -> "%s is not a number";
    };
  }

  /** A name at the end of a range is the day that ends the week: SAT-SUN is 6-7. */
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

  private boolean isInRange(int value) {
    return field.min() <= value && value <= field.maxWritten();
  }

  /** What is longer is out of every range. */
  private static int number(@Nullable String digits, int absent) {
    if (digits == null) {
      return absent;
    }
    return digits.length() > 4 ? 10_000 : Integer.parseInt(digits);
  }

  private Checked bad(String why, String entry) {
    String problem = why.replace("%s", Echo.of(entry));
    return new Checked("", "%s (%s): %s".formatted(field.label(), field.range(), problem));
  }
}
