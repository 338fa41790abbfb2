package carillon.model.task;

import carillon.model.Partition;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.temporal.IsoFields;
import java.time.temporal.TemporalAdjusters;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The UTC days whose tasks share one partition, named after the first day: a single day in the near
 * future, and a month, a quarter or a year further ahead. So the number of partitions depends on
 * these bounds and not on the due times that clients choose. The range is chosen when a task is
 * created and stored in its id, because the same due time falls into a shorter range as it comes
 * nearer.
 */
public record DayRange(LocalDate first, LocalDate last) {

  /** Longer than any month, so that a month's partition only has tasks created before the month. */
  private static final int SINGLE_DAYS = 32;

  private static final int MONTHS_UP_TO = 366;
  private static final int QUARTERS_UP_TO = 732;

  /** The range for a task that is created now. */
  public static DayRange of(Instant dueAt, Instant now) {
    LocalDate day = day(dueAt);
    long ahead = ChronoUnit.DAYS.between(day(now), day);
    if (ahead <= SINGLE_DAYS) {
      return new DayRange(day, day);
    }
    if (ahead <= MONTHS_UP_TO) {
      return month(day);
    }
    return ahead <= QUARTERS_UP_TO ? quarter(day) : year(day);
  }

  private static LocalDate day(Instant instant) {
    return LocalDate.ofInstant(instant, ZoneOffset.UTC);
  }

  private static DayRange month(LocalDate day) {
    return new DayRange(day.withDayOfMonth(1), day.with(TemporalAdjusters.lastDayOfMonth()));
  }

  private static DayRange quarter(LocalDate day) {
    LocalDate first = day.with(IsoFields.DAY_OF_QUARTER, 1);
    return new DayRange(first, first.plusMonths(3).minusDays(1));
  }

  private static DayRange year(LocalDate day) {
    return new DayRange(day.withDayOfYear(1), day.with(TemporalAdjusters.lastDayOfYear()));
  }

  /**
   * The shared partitions that may hold tasks due at this instant, if they were created long before
   * it.
   */
  public static Set<Partition> sharedAt(Instant dueAt) {
    LocalDate day = day(dueAt);
    // Not Set.of, which rejects duplicates.
    return Set.copyOf(
        List.of(month(day).partition(), quarter(day).partition(), year(day).partition()));
  }

  /** The current quarter and all later ones that can have a partition of their own. */
  public static List<DayRange> quarters(Instant now) {
    LocalDate end = day(now).plusDays(QUARTERS_UP_TO);
    List<DayRange> quarters = new ArrayList<>();
    for (DayRange next = quarter(day(now));
        !next.first().isAfter(end);
        next = quarter(next.last().plusDays(1))) {
      quarters.add(next);
    }
    return quarters;
  }

  public Partition partition() {
    return new Partition(first);
  }

  public boolean isShared() {
    return !first.equals(last);
  }

  /**
   * The timestamp of a task's id. It always lies in the first day: in a shared partition, due times
   * are scaled down to that day, so that the order of ids is still the order of due times.
   */
  public Instant idTime(Instant dueAt) {
    if (!isShared()) {
      return dueAt;
    }
    Instant begin = first.atStartOfDay(ZoneOffset.UTC).toInstant();
    long days = ChronoUnit.DAYS.between(first, last) + 1;
    return begin.plusMillis(Duration.between(begin, dueAt).toMillis() / days);
  }
}
