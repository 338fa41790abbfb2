package carillon.api.json;

import carillon.api.error.ErrorCode;
import carillon.store.db.Json;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Times of the API: reads RFC 3339 with an offset, writes UTC with milliseconds. */
public final class Times {

  private static final Pattern RFC_3339 =
      Pattern.compile(
          "([+-]?\\d{4,10})-(\\d\\d)-(\\d\\d)[Tt"
              + " ](\\d\\d:\\d\\d:\\d\\d)(\\.\\d{1,32})?([Zz]|[+-]\\d\\d:\\d\\d)?");
  private static final int NANO_DIGITS = 9;
  private static final int MAX_TEXT = 64;

  private Times() {}

  /** A time, or the error in its text. */
  public record Reading(@Nullable Instant time, @Nullable ErrorCode error) {

    /** What to change, for an error message about a field or parameter. */
    public String message() {
      return Times.message(error == null ? ErrorCode.INVALID_TIME : error);
    }
  }

  static String message(ErrorCode error) {
    return switch (error) {
      case ZONE_REQUIRED -> "must have an offset: Z or, for example, +02:00";
      case TIME_OUT_OF_RANGE -> "must be in the years 1 to 9999";
      default -> "must be an RFC 3339 time, for example 2027-01-31T08:00:00Z";
    };
  }

  public static Reading parse(String text) {
    Matcher matcher = text.length() > MAX_TEXT ? RFC_3339.matcher("") : RFC_3339.matcher(text);
    if (!matcher.matches()) {
      return new Reading(null, ErrorCode.INVALID_TIME);
    }
    String year = matcher.group(1);
    if (year.length() != 4 || year.equals("0000")) {
      return new Reading(null, ErrorCode.TIME_OUT_OF_RANGE);
    }
    if (matcher.group(6) == null) {
      return new Reading(null, ErrorCode.ZONE_REQUIRED);
    }
    String fraction = matcher.group(5) == null ? "" : matcher.group(5);
    if (fraction.length() > NANO_DIGITS + 1) {
      fraction = fraction.substring(0, NANO_DIGITS + 1);
    }
    String canonical =
        year
            + "-"
            + matcher.group(2)
            + "-"
            + matcher.group(3)
            + "T"
            + matcher.group(4)
            + fraction
            + matcher.group(6);
    try {
      Instant time = OffsetDateTime.parse(canonical.toUpperCase(Locale.ROOT)).toInstant();
      int utcYear = time.atOffset(ZoneOffset.UTC).getYear();
      return utcYear < 1 || utcYear > 9999
          ? new Reading(null, ErrorCode.TIME_OUT_OF_RANGE)
          : new Reading(time, null);
    } catch (DateTimeException e) {
      return new Reading(null, ErrorCode.INVALID_TIME);
    }
  }

  public static String format(Instant time) {
    return Json.of(time);
  }

  public static @Nullable String formatOrNull(@Nullable Instant time) {
    return time == null ? null : format(time);
  }
}
