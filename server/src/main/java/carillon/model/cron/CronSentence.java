package carillon.model.cron;

import carillon.model.cron.CronPart.Span;
import java.time.DayOfWeek;
import java.time.Month;
import java.time.format.TextStyle;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Describes a cron expression in English: the days here, the times of day in {@link CronClock}. */
final class CronSentence {

  private static final List<String> NTH = List.of("first", "second", "third", "fourth", "fifth");

  private final CronFields fields;

  CronSentence(CronFields fields) {
    this.fields = fields;
  }

  String text() {
    var clock = new CronClock(fields);
    return clock.text() + days(clock.namesTimesOfDay());
  }

  private String days(boolean afterTimesOfDay) {
    boolean anyOfMonth = fields.isOpen(CronField.DAY_OF_MONTH);
    boolean anyOfWeek = fields.isOpen(CronField.DAY_OF_WEEK);
    if (fields.bothDays() ? anyOfMonth && anyOfWeek : anyOfMonth || anyOfWeek) {
      return (afterTimesOfDay ? " every day" : "") + inMonths();
    }
    if (!fields.bothDays()) {
      return " on " + daysOfMonth() + " or " + onDaysOfWeek();
    }
    if (anyOfMonth) {
      return " " + onDaysOfWeek();
    }
    return " on " + daysOfMonth() + (anyOfWeek ? "" : ", if that is " + daysOfWeek());
  }

  private String daysOfMonth() {
    List<String> days = new ArrayList<>();
    long values = fields.values(CronField.DAY_OF_MONTH);
    if (values != 0) {
      days.add(Numbers.of(values).counted("day"));
    }
    for (CronPart part : fields.parts(CronField.DAY_OF_MONTH)) {
      special(part).ifPresent(days::add);
    }
    return Numbers.list(days) + ofMonths();
  }

  /** Including the preposition. */
  private String onDaysOfWeek() {
    long values = fields.values(CronField.DAY_OF_WEEK);
    boolean isOne = Long.bitCount(values) == 1 && fields.parts(CronField.DAY_OF_WEEK).size() == 1;
    return (isOne ? "every " : "on ") + daysOfWeek() + (values == 0 ? "" : inMonths());
  }

  private String daysOfWeek() {
    List<String> days = new ArrayList<>();
    long values = fields.values(CronField.DAY_OF_WEEK);
    boolean endsOnSunday = (values & 1) != 0 && Long.bitCount(values) > 1;
    Numbers.of(endsOnSunday ? (values & ~1L) | (1L << 7) : values)
        .runs(CronSentence::dayOfWeek)
        .forEach(days::add);
    List<String> specials = new ArrayList<>();
    for (CronPart part : fields.parts(CronField.DAY_OF_WEEK)) {
      special(part).ifPresent(specials::add);
    }
    if (!specials.isEmpty()) {
      days.add(Numbers.list(specials) + (values == 0 ? ofMonths() : " of the month"));
    }
    return Numbers.list(days);
  }

  private Optional<String> special(CronPart part) {
    return switch (part) {
      case Span _ -> Optional.empty();
      case CronPart.LastDay(int daysBefore) ->
          Optional.of(
              daysBefore == 0
                  ? "the last day"
                  : "the " + Numbers.ordinal(daysBefore) + " day before the last day");
      case CronPart.LastWorkday() -> Optional.of("the last weekday");
      case CronPart.NearestWorkday(int day) -> Optional.of("the weekday nearest to day " + day);
      case CronPart.NthOfMonth(int dayOfWeek, int nth) ->
          Optional.of("the " + NTH.get(nth - 1) + " " + dayOfWeek(dayOfWeek));
      case CronPart.LastOfMonth(int dayOfWeek) -> Optional.of("the last " + dayOfWeek(dayOfWeek));
    };
  }

  private String ofMonths() {
    return " of " + (fields.isOpen(CronField.MONTH) ? "the month" : months());
  }

  private String inMonths() {
    return fields.isOpen(CronField.MONTH) ? "" : " in " + months();
  }

  private String months() {
    return Numbers.list(
        Numbers.of(fields.values(CronField.MONTH))
            .runs(month -> Month.of(month).getDisplayName(TextStyle.FULL, Locale.ENGLISH)));
  }

  private static String dayOfWeek(int day) {
    return DayOfWeek.of(day == 0 ? 7 : day).getDisplayName(TextStyle.FULL, Locale.ENGLISH);
  }
}
