package carillon.model.cron;

import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.Optional;

/**
 * A time at which a schedule's rule says that it fires.
 *
 * @param local the local time in the schedule's zone that matches the rule; inside a DST gap, it
 *     does not exist
 */
public record NominalTime(Instant at, LocalDateTime local, Shift shift) {
  /** The effect of a clock change. */
  public enum Shift {
    NONE,
    /** The local time does not exist on that day, and the schedule does not fire. */
    GAP_SKIPPED,
    /** The local time does not exist on that day, and the schedule fires when the gap ends. */
    GAP_SHIFTED,
    /** The local time happens twice on that day; this is the first one. */
    FIRST_OF_TWO,
    SECOND_OF_TWO
  }

  public boolean fires() {
    return shift != Shift.GAP_SKIPPED;
  }

  /** A sentence that explains the effect of a clock change; empty without one. */
  public Optional<String> note(ZoneId zone, DstRule dst) {
    return switch (shift) {
      case NONE -> Optional.empty();
      case GAP_SHIFTED -> Optional.of(missing(zone) + "; fires when the gap ends");
      case GAP_SKIPPED -> Optional.of(missing(zone) + "; skipped");
      case FIRST_OF_TWO -> Optional.of(twice(dst, "first"));
      case SECOND_OF_TWO -> Optional.of(twice(dst, "second"));
    };
  }

  private String missing(ZoneId zone) {
    // The fire may have been recorded under older rules of its zone.
    ZoneOffsetTransition gap = zone.getRules().getTransition(local);
    if (gap == null || !gap.isGap()) {
      return clock(local) + " does not exist on this day";
    }
    LocalDateTime from = gap.getDateTimeBefore();
    LocalDateTime to = gap.getDateTimeAfter();
    boolean sameDay = from.toLocalDate().equals(to.toLocalDate());
    return sameDay
        ? "%s does not exist on this day: clocks go forward from %s to %s"
            .formatted(clock(local), clock(from), clock(to))
        : "%s %s does not exist: clocks go forward from %s %s to %s %s"
            .formatted(
                local.toLocalDate(),
                clock(local),
                from.toLocalDate(),
                clock(from),
                to.toLocalDate(),
                clock(to));
  }

  private String twice(DstRule dst, String which) {
    String twice = clock(local) + " happens twice on this day; ";
    return dst.overlap() == DstRule.Overlap.BOTH
        ? twice + "fires both times, this is the " + which
        : twice + "fires the " + which + " time";
  }

  /** With seconds only if they are not zero. */
  private static String clock(LocalDateTime time) {
    return time.toLocalTime().toString();
  }
}
