package carillon.model.cron;

import java.time.DayOfWeek;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/** A random cron expression, generated together with its meaning so that no parser is involved. */
final class KnownCron {

  private static final List<String> MONTHS =
      List.of("jan", "Feb", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC");
  private static final List<String> WEEK = List.of("SUN", "Mon", "TUE", "wed", "THU", "FRI", "SAT");

  /** A field: its text, the values that it lists, and its rules about days. */
  private record Field(String text, BitSet values, List<Predicate<LocalDate>> rules) {

    boolean fits(int value, LocalDate date) {
      return values.get(value) || rules.stream().anyMatch(rule -> rule.test(date));
    }

    boolean isStar() {
      return text.startsWith("*") || text.equals("?");
    }
  }

  private final String text;
  private final int[] times;
  private final Predicate<LocalDate> days;

  private KnownCron(String text, int[] times, Predicate<LocalDate> days) {
    this.text = text;
    this.times = times;
    this.days = days;
  }

  String text() {
    return text;
  }

  /** The seconds of a day at which it fires. */
  int[] times() {
    return times;
  }

  Predicate<LocalDate> days() {
    return days;
  }

  static KnownCron random(Random random) {
    boolean sixFields = random.nextInt(5) == 0;
    Field seconds = sixFields ? clock(random, 59, 75) : single("0", 0);
    Field minutes = clock(random, 59, 50);
    Field hours = clock(random, 23, 45);
    Field daysOfMonth = days(random, 1, 31, List.of());
    Field months =
        random.nextInt(100) < 60 ? span(random, 1, 12, "*", MONTHS) : some(random, 1, 12, MONTHS);
    Field daysOfWeek = days(random, 0, 6, WEEK);
    String text =
        String.join(
            " ".repeat(1 + random.nextInt(2)),
            minutes.text(),
            hours.text(),
            daysOfMonth.text(),
            months.text(),
            daysOfWeek.text());
    return new KnownCron(
        sixFields ? seconds.text() + " " + text : text,
        times(seconds, minutes, hours),
        date -> {
          boolean ofMonth = daysOfMonth.fits(date.getDayOfMonth(), date);
          boolean ofWeek = daysOfWeek.fits(date.getDayOfWeek().getValue() % 7, date);
          boolean both = daysOfMonth.isStar() || daysOfWeek.isStar();
          return months.values().get(date.getMonthValue())
              && (both ? ofMonth && ofWeek : ofMonth || ofWeek);
        });
  }

  /** The calendar repeats after 400 years. */
  boolean everFires() {
    LocalDate start = LocalDate.of(2000, 1, 1);
    return start.datesUntil(start.plusYears(400)).anyMatch(days);
  }

  private static int[] times(Field seconds, Field minutes, Field hours) {
    return IntStream.range(0, 86_400)
        .filter(
            second ->
                hours.values().get(second / 3_600)
                    && minutes.values().get(second / 60 % 60)
                    && seconds.values().get(second % 60))
        .toArray();
  }

  private static Field clock(Random random, int max, int percentSingle) {
    if (random.nextInt(100) < percentSingle) {
      int value = random.nextInt(max + 1);
      return single(String.valueOf(value), value);
    }
    return some(random, 0, max, List.of());
  }

  private static Field days(Random random, int min, int max, List<String> names) {
    int kind = random.nextInt(100);
    if (kind < 45) {
      return span(random, min, max, kind < 5 ? "?" : "*", names);
    }
    if (kind < 75) {
      return some(random, min, max, names);
    }
    Field rule = max == 31 ? ruleOfMonth(random) : ruleOfWeek(random);
    if (kind < 90) {
      return rule;
    }
    Field other = kind < 95 ? some(random, min, max, names) : days(random, min, max, names);
    if (other.text().equals("?")) {
      return rule;
    }
    return random.nextBoolean() ? both(rule, other) : both(other, rule);
  }

  private static Field some(Random random, int min, int max, List<String> names) {
    Field field = span(random, min, max, kind(random), names);
    while (random.nextInt(4) == 0) {
      field = both(field, span(random, min, max, kind(random), names));
    }
    return field;
  }

  private static String kind(Random random) {
    String[] kinds = {"a", "a", "a", "a-b", "a-b", "*/n", "a/n", "a-b/n", "*"};
    return kinds[random.nextInt(kinds.length)];
  }

  /** Writes a span of this kind and enumerates its values. */
  private static Field span(Random random, int min, int max, String kind, List<String> names) {
    int one = min + random.nextInt(max - min + 1);
    int other = min + random.nextInt(max - min + 1);
    int from = kind.startsWith("a-b") ? Math.min(one, other) : kind.startsWith("a") ? one : min;
    int to = kind.startsWith("a-b") ? Math.max(one, other) : kind.equals("a") ? one : max;
    boolean toSunday = kind.startsWith("a-b") && max == 6 && random.nextInt(4) == 0;
    if (toSunday) {
      to = 7;
    }
    int step = kind.endsWith("n") ? 1 + random.nextInt(Math.min(max - min + 1, 20)) : 1;
    BitSet values = new BitSet();
    for (int value = from; value <= to; value++) {
      if ((value - from) % step == 0) {
        values.set(value == 7 && max == 6 ? 0 : value);
      }
    }
    boolean otherSunday = max == 6 && from == 0 && to == from && random.nextInt(3) == 0;
    String first = otherSunday ? "7" : written(random, from, min, names);
    String last = to == 0 ? "0" : written(random, to, min, names);
    String text =
        switch (kind) {
          case "a" -> first;
          case "a-b" -> (otherSunday ? "0" : first) + "-" + last;
          case "a/n" -> first + "/" + step;
          case "a-b/n" -> (otherSunday ? "0" : first) + "-" + last + "/" + step;
          case "*/n" -> "*/" + step;
          default -> kind;
        };
    return new Field(text, values, List.of());
  }

  private static String written(Random random, int value, int min, List<String> names) {
    return names.isEmpty() || random.nextBoolean()
        ? String.valueOf(value)
        : names.get((value - min) % names.size());
  }

  private static Field both(Field one, Field other) {
    BitSet values = (BitSet) one.values().clone();
    values.or(other.values());
    List<Predicate<LocalDate>> rules = new ArrayList<>(one.rules());
    rules.addAll(other.rules());
    return new Field(one.text() + "," + other.text(), values, rules);
  }

  private static Field single(String text, int value) {
    BitSet values = new BitSet();
    values.set(value);
    return new Field(text, values, List.of());
  }

  private static Field rule(String text, Predicate<LocalDate> rule) {
    return new Field(text, new BitSet(), List.of(rule));
  }

  private static Field ruleOfMonth(Random random) {
    int day = 1 + random.nextInt(31);
    int before = 1 + random.nextInt(30);
    return switch (random.nextInt(4)) {
      case 0 -> rule("L", date -> date.plusDays(1).getDayOfMonth() == 1);
      case 1 ->
          rule(
              "L-" + before,
              date -> date.plusMonths(1).withDayOfMonth(1).minusDays(1 + before).equals(date));
      case 2 -> rule("lw", date -> date.equals(lastWorkday(date)));
      default -> rule(day + "W", date -> isNearestWorkday(date, day));
    };
  }

  private static Field ruleOfWeek(Random random) {
    int day = random.nextInt(8);
    DayOfWeek dayOfWeek = DayOfWeek.of(day == 0 ? 7 : day);
    String written = random.nextBoolean() ? String.valueOf(day) : WEEK.get(day % 7);
    int nth = 1 + random.nextInt(5);
    return random.nextBoolean()
        ? rule(
            written + "L",
            date ->
                date.getDayOfWeek() == dayOfWeek && date.plusDays(7).getMonth() != date.getMonth())
        : rule(
            written.toLowerCase(Locale.ROOT) + "#" + nth,
            date -> date.getDayOfWeek() == dayOfWeek && countedInMonth(date) == nth);
  }

  private static long countedInMonth(LocalDate date) {
    return date.withDayOfMonth(1)
        .datesUntil(date.plusDays(1))
        .filter(earlier -> earlier.getDayOfWeek() == date.getDayOfWeek())
        .count();
  }

  private static LocalDate lastWorkday(LocalDate date) {
    LocalDate day = date.withDayOfMonth(date.lengthOfMonth());
    while (!isWorkday(day)) {
      day = day.minusDays(1);
    }
    return day;
  }

  private static boolean isNearestWorkday(LocalDate date, int wanted) {
    if (wanted > date.lengthOfMonth()) {
      return false;
    }
    LocalDate day = date.withDayOfMonth(wanted);
    for (int distance : new int[] {0, -1, 1, -2, 2}) {
      LocalDate near = day.plusDays(distance);
      if (isWorkday(near) && near.getMonth() == day.getMonth()) {
        return near.equals(date);
      }
    }
    throw new AssertionError("no weekday near " + day);
  }

  private static boolean isWorkday(LocalDate date) {
    return date.getDayOfWeek() != DayOfWeek.SATURDAY && date.getDayOfWeek() != DayOfWeek.SUNDAY;
  }
}
