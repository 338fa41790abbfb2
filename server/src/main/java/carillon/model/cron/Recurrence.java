package carillon.model.cron;

import java.time.Instant;
import java.time.ZoneId;

/** The rule by which a schedule repeats: a cron expression or an interval. */
public sealed interface Recurrence permits Cron, Every {

  int MAX_CHARACTERS = 256;

  /** In English: "At 02:30 every day". */
  String description();

  /**
   * The nominal times of this rule.
   *
   * @param zone ignored by intervals, as is {@code dst}
   * @param anchor the start of intervals; ignored by cron expressions
   */
  Timetable timetable(ZoneId zone, DstRule dst, Instant anchor);

  /**
   * Parses a cron expression, a nickname such as {@code @daily}, or {@code @every 90s}.
   *
   * @param scheduleName hashed for {@code H}; may be empty if the expression has no {@code H}
   */
  static Reading read(String cron, String scheduleName) {
    return CronText.read(cron, scheduleName);
  }

  /** Parses an interval such as {@code 90s}. */
  static Reading readEvery(String interval) {
    return Every.read(interval);
  }

  /** The result of parsing a rule. */
  sealed interface Reading {

    record Valid(Recurrence recurrence) implements Reading {}

    /**
     * An invalid rule.
     *
     * @param code for programs: cron_field_count, invalid_cron, never_fires, interval_too_short or
     *     too_long
     * @param message for people
     */
    record Invalid(String code, String message) implements Reading {}
  }
}
