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

/** Parses the Retry-After header (RFC 9110, 10.2.3). */
final class RetryAfter {

  private static final Pattern SECONDS = Pattern.compile("[0-9]+");

  /** More digits do not fit a long, and exceed the cap anyway. */
  private static final int MAX_DIGITS = 18;

  /** A two-digit year is at most this many years ahead; otherwise it is in the past. */
  private static final int MAX_YEARS_AHEAD = 50;

  private static final DateTimeFormatter ASCTIME =
      DateTimeFormatter.ofPattern("EEE MMM ppd HH:mm:ss uuuu", Locale.US);

  private RetryAfter() {}

  /**
   * Null unless there is exactly one valid value.
   *
   * @param values of all Retry-After headers
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

  /** The current date format, or one of the two obsolete formats that must still be accepted. */
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

  /** Interprets a two-digit year as one from 49 years ago to 50 years ahead. */
  private static DateTimeFormatter rfc850(Instant now) {
    int lastYear = now.atZone(ZoneOffset.UTC).getYear() + MAX_YEARS_AHEAD;
    return new DateTimeFormatterBuilder()
        .appendPattern("EEEE, dd-MMM-")
        .appendValueReduced(ChronoField.YEAR, 2, 2, lastYear - 99)
        .appendPattern(" HH:mm:ss 'GMT'")
        .toFormatter(Locale.US);
  }
}
