package carillon.model;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/**
 * Names one partition of every per-task table: the UTC day on which its tasks were due when they
 * were created. Days far ahead share the partition of the first of them ({@link
 * carillon.model.task.DayRange}).
 */
public record Partition(LocalDate day) implements Comparable<Partition> {

  private static final DateTimeFormatter SUFFIX = DateTimeFormatter.ofPattern("yyyyMMdd");

  public static Partition of(Instant dueAt) {
    return new Partition(LocalDate.ofInstant(dueAt, ZoneOffset.UTC));
  }

  public Partition next() {
    return new Partition(day.plusDays(1));
  }

  /** The suffix of the names of this partition's tables. */
  public String suffix() {
    return SUFFIX.format(day);
  }

  @Override
  public int compareTo(Partition other) {
    return day.compareTo(other.day);
  }
}
