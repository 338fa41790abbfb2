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

/** The nominal times of a cron expression in a zone with clock changes. */
final class ZonedTimetable implements Timetable {

  /** More than any zone offset plus any clock change. */
  private static final Duration MAX_OFFSET = Duration.ofDays(2);

  private static final long LAST_SECOND = END.getEpochSecond();

  private final CronCalendar calendar;
  private final ZoneRules rules;
  private final DstRule dst;

  ZonedTimetable(CronCalendar calendar, ZoneId zone, DstRule dst) {
    this.calendar = calendar;
    this.rules = zone.getRules();
    this.dst = dst;
  }

  /** Searches one period of constant offset after the other. */
  @Override
  public List<NominalTime> next(Instant after) {
    long second = after.getEpochSecond() + 1;
    Instant from =
        after.isBefore(FIRST) ? FIRST : Instant.ofEpochSecond(Math.min(second, LAST_SECOND));
    while (from.isBefore(END)) {
      Period period = Period.at(from, rules);
      List<NominalTime> fromGap = period.beginsAfterGap(from) ? atEndOfGap(period) : List.of();
      if (!fromGap.isEmpty()) {
        return fromGap;
      }
      Optional<LocalDateTime> found = calendar.atOrAfter(period.local(from));
      if (found.isEmpty()) {
        return List.of();
      }
      LocalDateTime local = found.get();
      Instant at = local.toInstant(period.offset());
      if (period.isOver(at)) {
        // Nothing matches before `local`, so clock changes long before it can be skipped, unless
        // one of them repeats local times before the start of this search.
        Instant near = local.toInstant(ZoneOffset.UTC).minus(MAX_OFFSET);
        from = period.repeatsBefore(from) ? period.endsAt() : laterOf(period.endsAt(), near);
        continue;
      }
      Shift shift = period.shift(local);
      if (fires(shift)) {
        return at.isBefore(END) ? List.of(new NominalTime(at, local, shift)) : List.of();
      }
      from = shift == Shift.FIRST_OF_TWO ? period.endsAt() : period.repeatedUntil();
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

  private List<NominalTime> atEndOfGap(Period period) {
    ZoneOffsetTransition gap = period.beginning();
    LocalDateTime end = gap.getDateTimeAfter();
    List<NominalTime> times = new ArrayList<>();
    Shift shift = dst.gap() == DstRule.Gap.SKIP ? Shift.GAP_SKIPPED : Shift.GAP_SHIFTED;
    Optional<LocalDateTime> local = calendar.atOrAfter(gap.getDateTimeBefore());
    while (local.isPresent() && local.get().isBefore(end)) {
      times.add(new NominalTime(gap.getInstant(), local.get(), shift));
      // Of the times shifted to one instant, only the earliest is listed.
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

  /** The period between two clock changes; unbounded where there is no change. */
  private record Period(
      ZoneOffset offset, @Nullable ZoneOffsetTransition begin, @Nullable ZoneOffsetTransition end) {

    static Period at(Instant instant, ZoneRules rules) {
      return new Period(
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

    /** Whether the clock change at the end repeats local times before this instant. */
    boolean repeatsBefore(Instant instant) {
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
      boolean isRepeated =
          end != null && end.isOverlap() && !local.isBefore(end.getDateTimeAfter());
      return isRepeated ? Shift.FIRST_OF_TWO : Shift.NONE;
    }

    /** The end of the local times that are repeated. */
    Instant repeatedUntil() {
      Instant until = beginning().getDateTimeBefore().toInstant(offset);
      return until.isAfter(endsAt()) ? endsAt() : until;
    }
  }
}
