package carillon.cli;

import java.util.Locale;

/** Formats numbers and times briefly, for people. */
public final class Amounts {

  private static final double MINUTE = 60;
  private static final double HOUR = 60 * MINUTE;
  private static final double DAY = 24 * HOUR;

  private Amounts() {}

  public static String number(double value) {
    return String.format(
        Locale.ROOT, value < 10 && value != Math.rint(value) ? "%.1f" : "%,.0f", value);
  }

  /** A duration. */
  public static String seconds(double value) {
    if (Math.abs(value) < 0.0005) {
      return "0ms"; // not -0ms
    }
    if (value < 1) {
      return String.format(Locale.ROOT, "%.0fms", value * 1000);
    }
    return value < 2 * MINUTE
        ? String.format(Locale.ROOT, "%.1fs", value)
        : String.format(Locale.ROOT, "%.0fm", value / MINUTE);
  }

  /** An age, in the largest unit of which there are at least two. */
  public static String age(double seconds) {
    if (seconds < 2 * MINUTE) {
      return whole(seconds, "s");
    }
    if (seconds < 2 * HOUR) {
      return whole(seconds / MINUTE, "m");
    }
    return seconds < 2 * DAY ? whole(seconds / HOUR, "h") : whole(seconds / DAY, "d");
  }

  /** A time difference with its sign. */
  public static String offset(double seconds) {
    String size = seconds(Math.abs(seconds));
    return size.equals("0ms") ? size : (seconds < 0 ? "-" : "+") + size;
  }

  private static String whole(double value, String unit) {
    return String.format(Locale.ROOT, "%,.0f%s", Math.max(0, Math.floor(value)), unit);
  }
}
