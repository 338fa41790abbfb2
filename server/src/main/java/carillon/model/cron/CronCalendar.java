package carillon.model.cron;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.YearMonth;
import java.util.List;
import java.util.Optional;

/**
 * Finds the local times that match a cron expression.
 *
 * <p>The matching days of a month depend only on its length and the day of the week of its first
 * day. So the 28 kinds of months are computed once, and a search takes one step per month, whatever
 * the expression.
 */
final class CronCalendar {

  /** A 29 February on a given day of the week comes at least every 40 years. */
  private static final int MONTHS_SEARCHED = 12 * 41;

  private static final int MIN_MONTH_LENGTH = 28;
  private static final int SUNDAY = 0;
  private static final int SATURDAY = 6;

  private final long seconds;
  private final long minutes;
  private final long hours;
  private final long months;

  /** By length and first day of the week; bit d is day d. */
  private final long[] days = new long[4 * 7];

  CronCalendar(CronFields fields) {
    seconds = fields.values(CronField.SECOND);
    minutes = fields.values(CronField.MINUTE);
    hours = fields.values(CronField.HOUR);
    months = fields.values(CronField.MONTH);
    for (int length = MIN_MONTH_LENGTH; length <= 31; length++) {
      for (int first = SUNDAY; first <= SATURDAY; first++) {
        days[kind(length, first)] = days(fields, length, first);
      }
    }
  }

  /** Whether any day ever matches. Every kind of month occurs within 400 years. */
  boolean fires() {
    for (int month = 1; month <= 12; month++) {
      int maxLength = month == 2 ? 29 : YearMonth.of(2000, month).lengthOfMonth();
      int minLength = month == 2 ? 28 : maxLength;
      for (int first = SUNDAY; first <= SATURDAY; first++) {
        if (has(months, month)
            && (days[kind(maxLength, first)] != 0 || days[kind(minLength, first)] != 0)) {
          return true;
        }
      }
    }
    return false;
  }

  /** The first matching second at or after this time. */
  Optional<LocalDateTime> atOrAfter(LocalDateTime from) {
    LocalDate date = from.toLocalDate();
    if (matches(date)) {
      int time = timeAtOrAfter(from.getHour(), from.getMinute(), from.getSecond());
      if (time >= 0) {
        return Optional.of(date.atTime(LocalTime.ofSecondOfDay(time)));
      }
    }
    return dayAtOrAfter(date.plusDays(1))
        .map(day -> day.atTime(LocalTime.ofSecondOfDay(timeAtOrAfter(0, 0, 0))));
  }

  private boolean matches(LocalDate date) {
    return has(months, date.getMonthValue())
        && has(days(YearMonth.from(date)), date.getDayOfMonth());
  }

  private int timeAtOrAfter(int hour, int minute, int second) {
    if (has(hours, hour)) {
      int nextSecond = has(minutes, minute) ? atOrAfter(seconds, second) : -1;
      if (nextSecond >= 0) {
        return secondOfDay(hour, minute, nextSecond);
      }
      int nextMinute = atOrAfter(minutes, minute + 1);
      if (nextMinute >= 0) {
        return secondOfDay(hour, nextMinute, atOrAfter(seconds, 0));
      }
    }
    int nextHour = atOrAfter(hours, hour + 1);
    return nextHour < 0 ? -1 : secondOfDay(nextHour, atOrAfter(minutes, 0), atOrAfter(seconds, 0));
  }

  private static int secondOfDay(int hour, int minute, int second) {
    return (hour * 60 + minute) * 60 + second;
  }

  private Optional<LocalDate> dayAtOrAfter(LocalDate from) {
    YearMonth month = YearMonth.from(from);
    int firstDay = from.getDayOfMonth();
    for (int i = 0; i < MONTHS_SEARCHED; i++) {
      int day = has(months, month.getMonthValue()) ? atOrAfter(days(month), firstDay) : -1;
      if (day >= 0) {
        return Optional.of(month.atDay(day));
      }
      month = month.plusMonths(1);
      firstDay = 1;
    }
    return Optional.empty();
  }

  private long days(YearMonth month) {
    return days[kind(month.lengthOfMonth(), month.atDay(1).getDayOfWeek().getValue() % 7)];
  }

  private static int kind(int length, int first) {
    return (length - MIN_MONTH_LENGTH) * 7 + first;
  }

  private static long days(CronFields fields, int length, int first) {
    long days = 0;
    for (int day = 1; day <= length; day++) {
      var candidate = new Day(day, length, first);
      boolean ofMonth = matches(fields.parts(CronField.DAY_OF_MONTH), candidate, day);
      boolean ofWeek = matches(fields.parts(CronField.DAY_OF_WEEK), candidate, candidate.ofWeek());
      if (fields.bothDays() ? ofMonth && ofWeek : ofMonth || ofWeek) {
        days |= 1L << day;
      }
    }
    return days;
  }

  private static boolean matches(List<CronPart> parts, Day day, int value) {
    for (CronPart part : parts) {
      if (day.matches(part, value)) {
        return true;
      }
    }
    return false;
  }

  private static boolean has(long bits, int value) {
    return ((bits >> value) & 1) != 0;
  }

  /** The lowest value at or after this one, or -1. */
  private static int atOrAfter(long bits, int value) {
    long rest = bits & (-1L << value);
    return rest == 0 ? -1 : Long.numberOfTrailingZeros(rest);
  }

  /** A day of a month with this length and this first day of the week. */
  private record Day(int day, int length, int first) {

    int ofWeek() {
      return ofWeek(day);
    }

    boolean matches(CronPart part, int value) {
      return switch (part) {
        case CronPart.Span span -> span.has(value) || (value == SUNDAY && span.has(7));
        case CronPart.LastDay(int daysBefore) -> day == length - daysBefore;
        case CronPart.LastWorkday() -> day == nearestWorkday(length);
        case CronPart.NearestWorkday(int wanted) ->
            wanted <= length && day == nearestWorkday(wanted);
        case CronPart.NthOfMonth(int dayOfWeek, int nth) ->
            ofWeek() == dayOfWeek && (day - 1) / 7 == nth - 1;
        case CronPart.LastOfMonth(int dayOfWeek) -> ofWeek() == dayOfWeek && day + 7 > length;
      };
    }

    private int nearestWorkday(int wanted) {
      return switch (ofWeek(wanted)) {
        case SATURDAY -> wanted == 1 ? 3 : wanted - 1;
        case SUNDAY -> wanted == length ? wanted - 2 : wanted + 1;
        default -> wanted;
      };
    }

    private int ofWeek(int ofMonth) {
      return (first + ofMonth - 1) % 7;
    }
  }
}
