package carillon.model.cron;

import java.util.ArrayList;
import java.util.List;

/** Describes in English the times of day at which a cron expression fires. */
final class CronClock {

  private static final int MAX_TIMES_LISTED = 8;

  private final Numbers seconds;
  private final Numbers minutes;
  private final Numbers hours;
  private final boolean everyHour;

  CronClock(CronFields fields) {
    seconds = Numbers.of(fields.values(CronField.SECOND));
    minutes = Numbers.of(fields.values(CronField.MINUTE));
    hours = Numbers.of(fields.values(CronField.HOUR));
    everyHour = hours.size() == 24;
  }

  /** Whether the text names times of day, so that the days must follow. */
  boolean namesTimesOfDay() {
    return !everyHour && hourStep() == 0;
  }

  String text() {
    if (seconds.size() == 1
        && minutes.size() * hours.size() <= MAX_TIMES_LISTED
        && namesTimesOfDay()) {
      return "At " + Numbers.list(times());
    }
    return seconds.isOnly(0) ? minutes() : seconds();
  }

  private List<String> times() {
    List<String> times = new ArrayList<>();
    for (int hour : hours.values()) {
      for (int minute : minutes.values()) {
        String second = seconds.isOnly(0) ? "" : ":%02d".formatted(seconds.first());
        times.add(clock(hour, minute) + second);
      }
    }
    return times;
  }

  private String minutes() {
    int step = minutes.step(60);
    if (step > 0) {
      return every(step, "minute") + during();
    }
    if (minutes.size() > 1) {
      return "At " + minutes.counted("minute") + " of " + inHours();
    }
    int minute = minutes.first();
    String atMinute = minute == 0 ? "" : " at minute " + minute;
    if (hourStep() > 0) {
      return every(hourStep(), "hour") + atMinute;
    }
    if (everyHour) {
      return minute == 0 ? "Every hour" : "At minute " + minute + " of every hour";
    }
    return hours.isRun()
        ? "Every hour from "
            + clock(hours.first(), minute)
            + " through "
            + clock(hours.last(), minute)
        : "At minute " + minute + " of " + inHours();
  }

  private String seconds() {
    int step = seconds.step(60);
    boolean everyMinute = minutes.size() == 60;
    if (step > 0) {
      String often = every(step, "second");
      return everyMinute
          ? often + during()
          : often + " in " + minutes.counted("minute") + " of " + inHours();
    }
    String inMinutes = everyMinute ? "every minute" : minutes.counted("minute");
    boolean always = everyMinute && everyHour;
    return "At "
        + seconds.counted("second")
        + " of "
        + inMinutes
        + (always ? "" : " of " + inHours());
  }

  /** The hours during which it fires repeatedly. */
  private String during() {
    if (everyHour) {
      return "";
    }
    return hours.isRun() || hours.size() == 1
        ? " from " + clock(hours.first(), 0) + " through " + clock(hours.last(), minutes.last())
        : " in " + inHours();
  }

  private String inHours() {
    return everyHour ? "every hour" : hours.counted("hour");
  }

  /** 0 for two times a day, which read better as a list. */
  private int hourStep() {
    return hours.size() > 2 && !everyHour && minutes.size() == 1 && seconds.isOnly(0)
        ? hours.step(24)
        : 0;
  }

  private static String every(int step, String unit) {
    return step == 1 ? "Every " + unit : "Every " + step + " " + unit + "s";
  }

  private static String clock(int hour, int minute) {
    return "%02d:%02d".formatted(hour, minute);
  }
}
