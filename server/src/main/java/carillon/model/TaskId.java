package carillon.model;

import java.time.Instant;
import java.util.Optional;
import java.util.UUID;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;

/**
 * Names a task. A UUID of version 7 whose time is the task's due time at creation, or stands for it
 * in a partition that several days share ({@link carillon.model.task.DayRange#idTime}), so that the
 * id alone says in which partition the row lies.
 */
public record TaskId(UUID value) {

  // UUID.fromString accepts "1-1-1-1-1"; an id that we never made must not reach the database.
  private static final Pattern CANONICAL =
      Pattern.compile(
          "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}");

  /** The end of the year 9999; there is room for more, but no date in PostgreSQL's text for it. */
  private static final long LAST_MILLI = 253_402_300_799_999L;

  private static final long OFFSET_MASK = 0xFFF;

  public static TaskId at(Instant time, RandomGenerator random) {
    return at(time, random.nextLong(), random);
  }

  /**
   * An id with a given order among those of the same millisecond.
   *
   * @param offset the order among them; only its 12 lowest bits count
   */
  public static TaskId at(Instant time, long offset, RandomGenerator random) {
    long high = (time.toEpochMilli() << 16) | 0x7000 | (offset & OFFSET_MASK);
    long low = (random.nextLong() & 0x3FFF_FFFF_FFFF_FFFFL) | 0x8000_0000_0000_0000L;
    return new TaskId(new UUID(high, low));
  }

  /** The offset of an id, from its upper half. */
  public static int offsetOf(long mostSignificantBits) {
    return (int) (mostSignificantBits & OFFSET_MASK);
  }

  /** Empty if the text is not an id that {@link #at} could have made. */
  public static Optional<TaskId> parse(String text) {
    return CANONICAL.matcher(text).matches()
        ? Optional.of(new TaskId(UUID.fromString(text))).filter(id -> id.millis() <= LAST_MILLI)
        : Optional.empty();
  }

  public Partition partition() {
    return Partition.of(Instant.ofEpochMilli(millis()));
  }

  private long millis() {
    return value.getMostSignificantBits() >>> 16;
  }

  @Override
  public String toString() {
    return value.toString();
  }
}
