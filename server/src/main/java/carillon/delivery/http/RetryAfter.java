package carillon.delivery.http;

import carillon.model.task.RetryPolicy;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads how long a target wants to be left alone (RFC 9110, 10.2.3). */
final class RetryAfter {

  private static final Pattern SECONDS = Pattern.compile("[0-9]+");

  /** Longer ones do not fit, and are beyond what we would wait anyway. */
  private static final int MAX_DIGITS = 18;

  /** How far ahead a date of two digits can be; what seems further away is long gone. */
  private static final int CENTURY_AHEAD = 50;

  private static final DateTimeFormatter ASCTIME =
      DateTimeFormatter.ofPattern("EEE MMM ppd HH:mm:ss uuuu", Locale.US);

  private RetryAfter() {}

  /**
   * Null unless the target said exactly one thing that we understand.
   *
   * @param values of all headers of that name
   */
  static @Nullable Duration parse(List<String> values, Instant now) {
    if (values.size() != 1) {
      return null;
    }
    String value = values.getFirst().strip();
    if (SECONDS.matcher(value).matches()) {
      return value.length() > MAX_DIGITS
          ? RetryPolicy.RETRY_AFTER_CAP
          : Duration.ofSeconds(Long.parseLong(value));
    }
    return date(value, now)
        .filter(then -> then.isAfter(now))
        .map(then -> Duration.between(now, then))
        .orElse(null);
  }

  /** The form of today, or one of the two that are obsolete and must still be read. */
  private static Optional<Instant> date(String value, Instant now) {
    Optional<Instant> date =
        parse(() -> ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
    if (date.isEmpty()) {
      date = parse(() -> LocalDateTime.parse(value, rfc850(now)).toInstant(ZoneOffset.UTC));
    }
    if (date.isEmpty()) {
      date = parse(() -> LocalDateTime.parse(value, ASCTIME).toInstant(ZoneOffset.UTC));
    }
    return date;
  }

  private interface Reading {
    Instant read();
  }

  private static Optional<Instant> parse(Reading reading) {
    try {
      return Optional.of(reading.read());
    } catch (DateTimeException e) {
      return Optional.empty();
    }
  }

  /** With a year of two digits, which is the one within the 50 years ahead or the 49 behind. */
  private static DateTimeFormatter rfc850(Instant now) {
    int lastYear = now.atZone(ZoneOffset.UTC).getYear() + CENTURY_AHEAD;
    return new DateTimeFormatterBuilder()
        .appendPattern("EEEE, dd-MMM-")
        .appendValueReduced(ChronoField.YEAR, 2, 2, lastYear - 99)
        .appendPattern(" HH:mm:ss 'GMT'")
        .toFormatter(Locale.US);
  }
}
