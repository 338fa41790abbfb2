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

/** Reads when something fires: what schedules and previews have in common. */
final class RuleFields {

  /** An H that is not part of a name such as THU. */
  private static final Pattern HASHED = Pattern.compile("(?<![A-Za-z])[Hh](?![A-Za-z])");

  private static final ZoneId UTC = ZoneId.of("UTC");

  private RuleFields() {}

  /**
   * When something fires.
   *
   * @param cron either this
   * @param every or this
   * @param recurrence what they say; null if they cannot be used
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
   * Meaningful only if no mistakes were found.
   *
   * @param name of the schedule; null where it is only tried out
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
    Instant startAt = kept(fields.time("startAt"));
    Instant endAt = kept(fields.time("endAt"));
    if (startAt != null && endAt != null && !startAt.isBefore(endAt)) {
      fields.wrong("endAt", ErrorCode.OUT_OF_RANGE, "must be after startAt");
    }
    return new Rule(cron, every, recurrence, zone, dst, startAt, endAt);
  }

  private static @Nullable Recurrence cron(Fields fields, String cron, @Nullable String name) {
    if (name == null && !cron.strip().startsWith("@") && HASHED.matcher(cron).find()) {
      fields.wrong(
          "name",
          ErrorCode.REQUIRED_FIELD,
          "is required: H stands for a number that the name of the schedule decides");
      return null;
    }
    return switch (Recurrence.read(cron, name == null ? "" : name)) {
      case Recurrence.Reading.Good(var recurrence) -> recurrence;
      case Recurrence.Reading.Refused(var code, var message) -> {
        fields.wrong("cron", ErrorCode.named(code).orElse(ErrorCode.INVALID_CRON), message);
        yield null;
      }
    };
  }

  private static @Nullable Duration every(Fields fields) {
    // Asked for by the widest range there is, so that what is too short gets its own code.
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
    return kept(every);
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
                      + " and offsets such as +02:00 are none"
                      + near(name));
              return UTC;
            });
  }

  /** Only names of places: no abbreviation is near another in meaning. */
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

  /** What is shown is what is kept, so that what was read and is sent back changes nothing. */
  static Duration kept(Duration duration) {
    return duration.truncatedTo(ChronoUnit.MILLIS);
  }

  static @Nullable Instant kept(@Nullable Instant time) {
    return time == null ? null : time.truncatedTo(ChronoUnit.MILLIS);
  }
}
