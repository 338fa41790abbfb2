package carillon.api.schedules;

import carillon.api.error.ErrorCode;
import carillon.api.json.Fields;
import carillon.model.Durations;
import carillon.model.Echo;
import carillon.model.Suggestion;
import carillon.model.cron.DstRule;
import carillon.model.cron.Every;
import carillon.model.cron.Recurrence;
import carillon.model.cron.Zones;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the rule fields that schedules and previews share. */
final class RuleFields {

  /** An H that is not part of a name, as in THU. */
  private static final Pattern HASHED = Pattern.compile("(?<![A-Za-z])[Hh](?![A-Za-z])");

  private static final ZoneId UTC = ZoneId.of("UTC");

  private RuleFields() {}

  /**
   * When a schedule fires.
   *
   * @param cron null if there is {@code every}
   * @param every null if there is {@code cron}
   * @param recurrence null if {@code cron} or {@code every} is invalid
   */
  record Rule(
      @Nullable String cron,
      @Nullable Duration every,
      @Nullable Recurrence recurrence,
      ZoneId zone,
      DstRule dst,
      @Nullable Instant startAt,
      @Nullable Instant endAt) {}

  /**
   * The result is valid only if no errors were recorded.
   *
   * @param name of the schedule; null in a preview without a name
   */
  static Rule read(Fields fields, @Nullable String name) {
    fields.exclusive("cron", "every");
    if (!fields.has("cron") && !fields.has("every")) {
      fields.wrong("cron", ErrorCode.REQUIRED_FIELD, "is required, unless there is every");
    }
    String cron = fields.string("cron");
    Duration every = every(fields);
    Recurrence recurrence = every == null ? null : new Every(every);
    if (cron != null) {
      recurrence = cron(fields, cron, name);
    }
    ZoneId zone = zone(fields);
    DstRule dst = dst(fields);
    Instant startAt = toMillis(fields.time("startAt"));
    Instant endAt = toMillis(fields.time("endAt"));
    if (startAt != null && endAt != null && !startAt.isBefore(endAt)) {
      fields.wrong("endAt", ErrorCode.OUT_OF_RANGE, "must be after startAt");
    }
    return new Rule(cron, every, recurrence, zone, dst, startAt, endAt);
  }

  private static @Nullable Recurrence cron(Fields fields, String cron, @Nullable String name) {
    if (name == null && !cron.strip().startsWith("@") && HASHED.matcher(cron).find()) {
      fields.wrong(
          "name", ErrorCode.REQUIRED_FIELD, "is required: H is a hash of the schedule's name");
      return null;
    }
    return switch (Recurrence.read(cron, name == null ? "" : name)) {
      case Recurrence.Reading.Valid(var recurrence) -> recurrence;
      case Recurrence.Reading.Invalid(var code, var message) -> {
        fields.wrong("cron", ErrorCode.named(code).orElse(ErrorCode.INVALID_CRON), message);
        yield null;
      }
    };
  }

  private static @Nullable Duration every(Fields fields) {
    // Read with the widest range, because a short interval has an error code of its own.
    Duration every = fields.duration("every", Duration.ZERO, Durations.MAX);
    if (every == null) {
      return null;
    }
    if (every.compareTo(Every.MIN) < 0) {
      fields.wrong("every", ErrorCode.INTERVAL_TOO_SHORT, "must be at least " + Every.MIN);
      return null;
    }
    if (every.compareTo(Every.MAX) > 0) {
      fields.wrong("every", ErrorCode.OUT_OF_RANGE, "must be at most " + Every.MAX);
      return null;
    }
    return toMillis(every);
  }

  private static ZoneId zone(Fields fields) {
    String name = fields.string("timezone");
    if (name == null) {
      return UTC;
    }
    return Zones.find(name)
        .orElseGet(
            () -> {
              fields.wrong(
                  "timezone",
                  ErrorCode.UNKNOWN_ZONE,
                  Echo.of(name)
                      + " is not an IANA region such as Europe/Berlin; abbreviations such as EST"
                      + " and offsets such as +02:00 are not allowed"
                      + near(name));
              return UTC;
            });
  }

  /** Suggests regions only: an abbreviation with a similar name has another meaning. */
  private static String near(String name) {
    List<String> regions =
        ZoneId.getAvailableZoneIds().stream()
            .filter(each -> each.contains("/") && Zones.find(each).isPresent())
            .sorted()
            .toList();
    String city = "/" + name.toLowerCase(Locale.ROOT);
    for (String region : regions) {
      if (("/" + region.toLowerCase(Locale.ROOT)).endsWith(city) && name.length() > 1) {
        return "; did you mean " + region + "?";
      }
    }
    return Suggestion.hint(name, regions);
  }

  private static DstRule dst(Fields fields) {
    Fields dst = fields.object("dst");
    if (dst == null) {
      return DstRule.DEFAULT;
    }
    DstRule.Gap gap = dst.choice("gap", DstRule.Gap.class);
    DstRule.Overlap overlap = dst.choice("overlap", DstRule.Overlap.class);
    dst.done();
    return new DstRule(
        gap == null ? DstRule.DEFAULT.gap() : gap,
        overlap == null ? DstRule.DEFAULT.overlap() : overlap);
  }

  /** The API shows milliseconds: storing more would turn sending back a response into a change. */
  static Duration toMillis(Duration duration) {
    return duration.truncatedTo(ChronoUnit.MILLIS);
  }

  static @Nullable Instant toMillis(@Nullable Instant time) {
    return time == null ? null : time.truncatedTo(ChronoUnit.MILLIS);
  }
}
