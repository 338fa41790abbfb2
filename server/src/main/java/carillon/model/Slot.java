package carillon.model;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/**
 * The UTC day in which a task was due when it was created, or the first of the days that share a
 * slot with it because they were far ahead then ({@link carillon.model.task.DayRange}). One slot is
 * one partition of every per-task table.
 */
public record Slot(LocalDate day) implements Comparable<Slot> {

  private static final DateTimeFormatter SUFFIX = DateTimeFormatter.ofPattern("yyyyMMdd");

  public static Slot of(Instant dueAt) {
    return new Slot(LocalDate.ofInstant(dueAt, ZoneOffset.UTC));
  }

  public Slot next() {
    return new Slot(day.plusDays(1));
  }

  /** What the names of this slot's tables end in. */
  public String suffix() {
    return SUFFIX.format(day);
  }

  @Override
  public int compareTo(Slot other) {
    return day.compareTo(other.day);
  }
}
