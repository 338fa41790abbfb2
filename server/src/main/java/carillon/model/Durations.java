package carillon.model;

import java.math.BigInteger;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads durations as people write them: {@code 500ms 30s 5m 2h 7d} or ISO 8601. */
public final class Durations {

  /** What is longer becomes this: a hundred years still fit a {@code long} of nanoseconds. */
  public static final Duration MAX = Duration.ofDays(36_500);

  /** What {@link #parse} accepts, in the words of an error message. */
  public static final String RULE = "a duration such as 500ms, 30s, 5m, 2h, 7d or PT1H30M";

  private static final int MAX_TEXT = 64;
  private static final Pattern SHORT = Pattern.compile("([0-9]+)(ms|s|m|h|d)");
  private static final BigInteger MAX_MILLIS = BigInteger.valueOf(MAX.toMillis());

  private Durations() {}

  /** Empty if the text is not a duration, or is a negative one. */
  public static Optional<Duration> parse(String text) {
    if (text.length() > MAX_TEXT) {
      return Optional.empty();
    }
    Matcher matcher = SHORT.matcher(text);
    if (matcher.matches()) {
      return Optional.of(ofUnits(new BigInteger(matcher.group(1)), matcher.group(2)));
    }
    // Signs are legal inside ISO 8601 parts (PT1H-90M) and never meant.
    boolean signed = text.indexOf('-') >= 0 || text.indexOf('+') >= 0;
    return signed ? Optional.empty() : parseIso(text);
  }

  private static Duration ofUnits(BigInteger amount, String unit) {
    BigInteger millis = amount.multiply(BigInteger.valueOf(millisOf(unit)));
    return Duration.ofMillis(millis.min(MAX_MILLIS).longValueExact());
  }

  private static long millisOf(String unit) {
    return switch (unit) {
      case "ms" -> 1;
      case "s" -> 1_000;
      case "m" -> 60_000;
      case "h" -> 3_600_000;
      default -> 86_400_000;
    };
  }

  /** Writes a duration as {@link #parse} reads it, in the largest unit that divides it evenly. */
  public static String format(Duration duration) {
    long millis = duration.toMillis();
    if (!duration.equals(Duration.ofMillis(millis))) {
      return duration.toString();
    }
    if (millis == 0) {
      return "0s";
    }
    for (String unit : List.of("d", "h", "m", "s")) {
      if (millis % millisOf(unit) == 0) {
        return millis / millisOf(unit) + unit;
      }
    }
    return millis + "ms";
  }

  private static Optional<Duration> parseIso(String text) {
    try {
      Duration parsed = Duration.parse(text);
      return Optional.of(parsed.compareTo(MAX) > 0 ? MAX : parsed);
    } catch (DateTimeParseException e) {
      // With a cause, the form was right and the number too large.
      return e.getCause() == null ? Optional.empty() : Optional.of(MAX);
    }
  }
}
