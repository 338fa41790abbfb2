package carillon.model.cron;

import carillon.model.Durations;
import carillon.model.Echo;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;

/** Fires at an anchor and then at a fixed interval, regardless of clock changes. */
public record Every(Duration interval) implements Recurrence {

  public static final Duration MIN = Duration.ofSeconds(1);
  public static final Duration MAX = Duration.ofDays(366);

  /** Parses a duration such as {@code 90s}. */
  static Reading read(String text) {
    Duration interval = Durations.parse(text).orElse(null);
    if (interval == null) {
      return invalid(Echo.of(text) + " is not " + Durations.RULE);
    }
    if (interval.compareTo(MIN) < 0) {
      return new Reading.Invalid(
          "interval_too_short", "every " + Echo.of(text) + " is too short; the minimum is 1s");
    }
    if (interval.compareTo(MAX) > 0) {
      return invalid("every " + Echo.of(text) + " is too long; the maximum is 366d");
    }
    return interval.toNanosPart() % 1_000_000 == 0
        ? new Reading.Valid(new Every(interval))
        : invalid("every " + Echo.of(text) + " is not a whole number of milliseconds");
  }

  private static Reading invalid(String message) {
    return new Reading.Invalid("invalid_cron", message);
  }

  @Override
  public String description() {
    if (interval.toMillisPart() > 0) {
      return "Every " + interval.toMillis() + " milliseconds";
    }
    long seconds = interval.toSeconds();
    if (seconds % 86_400 == 0) {
      return every(seconds / 86_400, "day");
    }
    if (seconds % 3_600 == 0) {
      return every(seconds / 3_600, "hour");
    }
    return seconds % 60 == 0 ? every(seconds / 60, "minute") : every(seconds, "second");
  }

  private static String every(long count, String unit) {
    return count == 1 ? "Every " + unit : "Every " + count + " " + unit + "s";
  }

  @Override
  public Timetable timetable(ZoneId zone, DstRule dst, Instant anchor) {
    return after -> {
      Instant at = next(after, anchor);
      return at.isBefore(Timetable.END)
          ? List.of(new NominalTime(at, LocalDateTime.ofInstant(at, zone), NominalTime.Shift.NONE))
          : List.of();
    };
  }

  private Instant next(Instant after, Instant anchor) {
    if (after.isBefore(anchor)) {
      return anchor;
    }
    if (!after.isBefore(Timetable.END)) {
      return Timetable.END;
    }
    long passed = Duration.between(anchor, after).dividedBy(interval);
    return anchor.plus(interval.multipliedBy(passed + 1));
  }
}
