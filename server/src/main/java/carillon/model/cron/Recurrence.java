package carillon.model.cron;

import java.time.Instant;
import java.time.ZoneId;

/** The rule by which a schedule fires again and again. */
public sealed interface Recurrence permits Cron, Every {

  int MAX_CHARACTERS = 256;

  /** In English: "At 02:30 every day". */
  String description();

  /**
   * When that is.
   *
   * @param anchor what intervals count from; nothing to a cron expression, as zone and clocks are
   *     nothing to an interval
   */
  Timetable timetable(ZoneId zone, DstRule dst, Instant anchor);

  /**
   * Reads a cron expression, {@code @daily} and the like, or {@code @every 90s}.
   *
   * @param scheduleName what {@code H} is a hash of; may be empty where there is no {@code H}
   */
  static Reading read(String cron, String scheduleName) {
    return CronText.read(cron, scheduleName);
  }

  /** Reads an interval such as {@code 90s}. */
  static Reading readEvery(String interval) {
    return Every.read(interval);
  }

  /** What reading a rule comes to. */
  sealed interface Reading {

    record Good(Recurrence recurrence) implements Reading {}

    /**
     * It is no rule that could be followed.
     *
     * @param code for programs: cron_field_count, invalid_cron, never_fires, interval_too_short or
     *     too_long
     * @param message for people
     */
    record Refused(String code, String message) implements Reading {}
  }
}
