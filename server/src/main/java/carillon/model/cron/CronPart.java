package carillon.model.cron;

/** One entry of a field of a cron expression. */
sealed interface CronPart {

  /** Every nth value of a range; a single value is a range of one. */
  record Span(int from, int to, int step) implements CronPart {

    boolean has(int value) {
      return from <= value && value <= to && (value - from) % step == 0;
    }
  }

  /** {@code L} and {@code L-3}: the last day of the month, or a number of days before it. */
  record LastDay(int daysBefore) implements CronPart {}

  /** {@code LW}: the last Monday-to-Friday day of the month. */
  record LastWorkday() implements CronPart {}

  /** {@code 15W}: the nearest Monday-to-Friday day in the same month. */
  record NearestWorkday(int day) implements CronPart {}

  /** {@code 5#2}: the second Friday of the month. */
  record NthOfMonth(int dayOfWeek, int nth) implements CronPart {}

  /** {@code 5L}: the last Friday of the month. */
  record LastOfMonth(int dayOfWeek) implements CronPart {}
}
