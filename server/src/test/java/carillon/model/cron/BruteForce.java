package carillon.model.cron;

import carillon.model.cron.NominalTime.Shift;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Finds the nominal times of a cron expression by trying every day and every local time. Shares no
 * code with what it checks.
 */
record BruteForce(KnownCron cron, ZoneId zone, DstRule dst) {

  /** All nominal times after one instant and up to the other, in order. */
  List<NominalTime> between(Instant after, Instant until) {
    ZoneRules rules = zone.getRules();
    LocalDateTime first = LocalDateTime.ofInstant(after, offset(rules, after, until, false));
    LocalDateTime last = LocalDateTime.ofInstant(until, offset(rules, after, until, true));
    List<NominalTime> times = new ArrayList<>();
    for (LocalDate day = first.toLocalDate();
        !day.isAfter(last.toLocalDate());
        day = day.plusDays(1)) {
      if (cron.days().test(day)) {
        timesOf(day, first, last, times);
      }
    }
    times.removeIf(time -> !time.at().isAfter(after) || time.at().isAfter(until));
    times.sort(Comparator.comparing(NominalTime::at).thenComparing(NominalTime::local));
    return dst.gap() == DstRule.Gap.SHIFT ? oneForEachInstant(times) : times;
  }

  private void timesOf(
      LocalDate day, LocalDateTime first, LocalDateTime last, List<NominalTime> times) {
    int[] seconds = cron.times();
    int from = day.equals(first.toLocalDate()) ? first.toLocalTime().toSecondOfDay() : 0;
    int to = day.equals(last.toLocalDate()) ? last.toLocalTime().toSecondOfDay() : 86_400;
    int start = Arrays.binarySearch(seconds, from);
    for (int i = start < 0 ? -start - 1 : start; i < seconds.length && seconds[i] <= to; i++) {
      add(day.atTime(LocalTime.ofSecondOfDay(seconds[i])), times);
    }
  }

  private void add(LocalDateTime local, List<NominalTime> times) {
    List<ZoneOffset> offsets = zone.getRules().getValidOffsets(local);
    if (offsets.isEmpty()) {
      Instant gapEnd = zone.getRules().getTransition(local).getInstant();
      boolean skip = dst.gap() == DstRule.Gap.SKIP;
      times.add(new NominalTime(gapEnd, local, skip ? Shift.GAP_SKIPPED : Shift.GAP_SHIFTED));
    } else if (offsets.size() == 1) {
      times.add(new NominalTime(local.toInstant(offsets.getFirst()), local, Shift.NONE));
    } else {
      Instant one = local.toInstant(offsets.getFirst());
      Instant other = local.toInstant(offsets.getLast());
      boolean inOrder = one.isBefore(other);
      if (dst.overlap() != DstRule.Overlap.LAST) {
        times.add(new NominalTime(inOrder ? one : other, local, Shift.FIRST_OF_TWO));
      }
      if (dst.overlap() != DstRule.Overlap.FIRST) {
        times.add(new NominalTime(inOrder ? other : one, local, Shift.SECOND_OF_TWO));
      }
    }
  }

  private static List<NominalTime> oneForEachInstant(List<NominalTime> times) {
    List<NominalTime> unique = new ArrayList<>();
    for (NominalTime time : times) {
      boolean isDuplicate = !unique.isEmpty() && unique.getLast().at().equals(time.at());
      if (!isDuplicate) {
        unique.add(time);
      } else if (time.shift() == Shift.NONE) {
        unique.set(unique.size() - 1, time);
      }
    }
    return unique;
  }

  /** The smallest or the largest offset in this period. */
  private static ZoneOffset offset(
      ZoneRules rules, Instant after, Instant until, boolean greatest) {
    List<ZoneOffset> offsets = new ArrayList<>();
    offsets.add(rules.getOffset(after));
    ZoneOffsetTransition change = rules.nextTransition(after);
    while (change != null && !change.getInstant().isAfter(until)) {
      offsets.add(change.getOffsetAfter());
      change = rules.nextTransition(change.getInstant());
    }
    offsets.sort(Comparator.comparingInt(ZoneOffset::getTotalSeconds));
    return greatest ? offsets.getLast() : offsets.getFirst();
  }
}
