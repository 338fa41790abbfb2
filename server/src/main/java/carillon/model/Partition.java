package carillon.model;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/**
 * The UTC day in which a task was due when it was created, or the first of the days that share a
 * partition with it because they were far ahead then ({@link carillon.model.task.DayRange}). One
 * partition is one partition of every per-task table.
 */
public record Partition(LocalDate day) implements Comparable<Partition> {

  private static final DateTimeFormatter SUFFIX = DateTimeFormatter.ofPattern("yyyyMMdd");

  public static Partition of(Instant dueAt) {
    return new Partition(LocalDate.ofInstant(dueAt, ZoneOffset.UTC));
  }

  public Partition next() {
    return new Partition(day.plusDays(1));
  }

  /** What the names of this partition's tables end in. */
  public String suffix() {
    return SUFFIX.format(day);
  }

  @Override
  public int compareTo(Partition other) {
    return day.compareTo(other.day);
  }
}
