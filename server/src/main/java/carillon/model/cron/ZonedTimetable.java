package carillon.model.cron;

import carillon.model.cron.NominalTime.Shift;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The times of a cron expression in a zone, where clocks change and local times miss or repeat. */
final class ZonedTimetable implements Timetable {

  /** More than any offset and any change of the clocks together. */
  private static final Duration CLOCKS_DIFFER = Duration.ofDays(2);

  private static final long LAST_SECOND = END.getEpochSecond();

  private final CronCalendar calendar;
  private final ZoneRules rules;
  private final DstRule dst;

  ZonedTimetable(CronCalendar calendar, ZoneId zone, DstRule dst) {
    this.calendar = calendar;
    this.rules = zone.getRules();
    this.dst = dst;
  }

  /** Goes from one change of the clocks to the next, with one offset at a time. */
  @Override
  public List<NominalTime> next(Instant after) {
    long second = after.getEpochSecond() + 1;
    Instant from =
        after.isBefore(FIRST) ? FIRST : Instant.ofEpochSecond(Math.min(second, LAST_SECOND));
    while (from.isBefore(END)) {
      Stretch stretch = Stretch.at(from, rules);
      List<NominalTime> fromGap = stretch.beginsAfterGap(from) ? atEndOfGap(stretch) : List.of();
      if (!fromGap.isEmpty()) {
        return fromGap;
      }
      Optional<LocalDateTime> found = calendar.atOrAfter(stretch.local(from));
      if (found.isEmpty()) {
        return List.of();
      }
      LocalDateTime local = found.get();
      Instant at = local.toInstant(stretch.offset());
      if (stretch.isOver(at)) {
        // Nothing fits before it, so no change of the clocks long before it matters; unless they
        // will show times again that lie before where this search began.
        Instant near = local.toInstant(ZoneOffset.UTC).minus(CLOCKS_DIFFER);
        from = stretch.goesBackBehind(from) ? stretch.endsAt() : laterOf(stretch.endsAt(), near);
        continue;
      }
      Shift shift = stretch.shift(local);
      if (fires(shift)) {
        return at.isBefore(END) ? List.of(new NominalTime(at, local, shift)) : List.of();
      }
      from = shift == Shift.FIRST_OF_TWO ? stretch.endsAt() : stretch.repeatedUntil();
    }
    return List.of();
  }

  private boolean fires(Shift shift) {
    return switch (shift) {
      case FIRST_OF_TWO -> dst.overlap() != DstRule.Overlap.LAST;
      case SECOND_OF_TWO -> dst.overlap() != DstRule.Overlap.FIRST;
      case NONE, GAP_SHIFTED, GAP_SKIPPED -> true;
    };
  }

  private List<NominalTime> atEndOfGap(Stretch stretch) {
    ZoneOffsetTransition gap = stretch.beginning();
    LocalDateTime end = gap.getDateTimeAfter();
    List<NominalTime> times = new ArrayList<>();
    Shift shift = dst.gap() == DstRule.Gap.SKIP ? Shift.GAP_SKIPPED : Shift.GAP_SHIFTED;
    Optional<LocalDateTime> local = calendar.atOrAfter(gap.getDateTimeBefore());
    while (local.isPresent() && local.get().isBefore(end)) {
      times.add(new NominalTime(gap.getInstant(), local.get(), shift));
      // Of those that are shifted to one instant, the earliest stands for all.
      local = calendar.atOrAfter(shift == Shift.GAP_SHIFTED ? end : local.get().plusSeconds(1));
    }
    if (local.isPresent() && local.get().equals(end)) {
      if (shift == Shift.GAP_SHIFTED) {
        times.clear();
      }
      times.add(new NominalTime(gap.getInstant(), end, Shift.NONE));
    }
    return times;
  }

  private static Instant laterOf(Instant one, Instant other) {
    return one.isAfter(other) ? one : other;
  }

  /** The time between two changes of the clocks; without one of them it goes on for ever. */
  private record Stretch(
      ZoneOffset offset, @Nullable ZoneOffsetTransition begin, @Nullable ZoneOffsetTransition end) {

    static Stretch at(Instant instant, ZoneRules rules) {
      return new Stretch(
          rules.getOffset(instant),
          rules.previousTransition(instant.plusNanos(1)),
          rules.nextTransition(instant));
    }

    LocalDateTime local(Instant instant) {
      return LocalDateTime.ofEpochSecond(instant.getEpochSecond(), 0, offset);
    }

    boolean beginsAfterGap(Instant instant) {
      return begin != null && begin.isGap() && begin.getInstant().equals(instant);
    }

    boolean isOver(Instant instant) {
      return end != null && !instant.isBefore(end.getInstant());
    }

    /** Whether the clocks will show again what they showed before this instant. */
    boolean goesBackBehind(Instant instant) {
      return end != null && end.isOverlap() && end.getDateTimeAfter().isBefore(local(instant));
    }

    ZoneOffsetTransition beginning() {
      return Objects.requireNonNull(begin);
    }

    Instant endsAt() {
      return end == null ? END : end.getInstant();
    }

    Shift shift(LocalDateTime local) {
      if (begin != null && begin.isOverlap() && local.isBefore(begin.getDateTimeBefore())) {
        return Shift.SECOND_OF_TWO;
      }
      boolean comesAgain =
          end != null && end.isOverlap() && !local.isBefore(end.getDateTimeAfter());
      return comesAgain ? Shift.FIRST_OF_TWO : Shift.NONE;
    }

    /** Until when the clocks show what they showed before. */
    Instant repeatedUntil() {
      Instant until = beginning().getDateTimeBefore().toInstant(offset);
      return until.isAfter(endsAt()) ? endsAt() : until;
    }
  }
}
