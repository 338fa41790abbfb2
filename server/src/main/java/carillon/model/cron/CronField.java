package carillon.model.cron;

import java.util.List;

/** The fields of a cron expression, in the order in which they are written. */
enum CronField {
  SECOND("second", 0, 59, "0-59", ""),
  MINUTE("minute", 0, 59, "0-59", ""),
  HOUR("hour", 0, 23, "0-23", ""),
  DAY_OF_MONTH("day of month", 1, 31, "1-31", ""),
  MONTH("month", 1, 12, "1-12 or JAN-DEC", "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"),
  DAY_OF_WEEK(
      "day of week", 0, 6, "0-7 or SUN-SAT, 0 and 7 are Sunday", "SUN MON TUE WED THU FRI SAT");

  private final String label;
  private final int min;
  private final int max;
  private final String range;
  private final String names;

  CronField(String label, int min, int max, String range, String names) {
    this.label = label;
    this.min = min;
    this.max = max;
    this.range = range;
    this.names = names;
  }

  String label() {
    return label;
  }

  boolean isDay() {
    return this == DAY_OF_MONTH || this == DAY_OF_WEEK;
  }

  int min() {
    return min;
  }

  int max() {
    return max;
  }

  /** The largest number allowed in an expression: 7 also means Sunday. */
  int maxWritten() {
    return this == DAY_OF_WEEK ? 7 : max;
  }

  /** The largest value of {@code H}: every month has at least 28 days. */
  int maxHashed() {
    return this == DAY_OF_MONTH ? 28 : max;
  }

  int size() {
    return max - min + 1;
  }

  /** The allowed values, as error messages show them. */
  String range() {
    return range;
  }

  /** The names of the values, starting with {@link #min}. */
  List<String> names() {
    return names.isEmpty() ? List.of() : List.of(names.split(" ", -1));
  }
}
