package carillon.model.cron;

/** One entry of a field of a cron expression. */
sealed interface CronPart {

  /** Every so many values from one to another; a single value is a span of one. */
  record Span(int from, int to, int step) implements CronPart {

    boolean has(int value) {
      return from <= value && value <= to && (value - from) % step == 0;
    }
  }

  /** {@code L} and {@code L-3}: the last day of the month, or so many days before it. */
  record LastDay(int daysBefore) implements CronPart {}

  /** {@code LW}: the last day of the month that is neither Saturday nor Sunday. */
  record LastWorkday() implements CronPart {}

  /** {@code 15W}: the day of the same month nearest to it that is no Saturday or Sunday. */
  record NearestWorkday(int day) implements CronPart {}

  /** {@code 5#2}: the second Friday of the month. */
  record NthOfMonth(int dayOfWeek, int nth) implements CronPart {}

  /** {@code 5L}: the last Friday of the month. */
  record LastOfMonth(int dayOfWeek) implements CronPart {}
}
