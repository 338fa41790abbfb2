package carillon.model.task;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What happened to tasks during a period: the number of events of each kind, and a histogram of
 * start delays. Not thread-safe.
 */
public final class Counts {

  /** The kinds of event. The index is the position in the stored array. */
  public enum Kind {
    STARTED(0),
    COMPLETED(1),
    RETRIED(2),
    DEAD(3),
    CANCELLED(4),
    EXPIRED(5);

    private final int index;

    Kind(int index) {
      this.index = index;
    }
  }

  private static final int KINDS = Kind.values().length;

  /** The length of the stored array: the kinds, then the buckets of {@link Lateness}. */
  public static final int NUMBERS = KINDS + Lateness.BUCKETS;

  private final long[] numbers;

  public Counts() {
    this(new long[NUMBERS]);
  }

  private Counts(long[] numbers) {
    this.numbers = numbers;
  }

  /** Counts from a stored array. */
  public static Counts of(long[] numbers) {
    if (numbers.length != NUMBERS) {
      throw new IllegalArgumentException(numbers.length + " numbers instead of " + NUMBERS);
    }
    return new Counts(numbers.clone());
  }

  public void add(Kind kind) {
    numbers[kind.index]++;
  }

  /** Counts a start, and its delay after the time at which the task was ready. */
  public void addStarted(Instant ready, Instant started) {
    numbers[Kind.STARTED.index]++;
    numbers[KINDS + Lateness.bucket(ready, started)]++;
  }

  public void add(Counts others) {
    for (int i = 0; i < NUMBERS; i++) {
      numbers[i] += others.numbers[i];
    }
  }

  /** The counts multiplied by this factor, each number rounded separately. */
  public Counts share(double part) {
    return new Counts(Arrays.stream(numbers).map(n -> Math.round(n * part)).toArray());
  }

  public long of(Kind kind) {
    return numbers[kind.index];
  }

  /** Tasks that ended after an attempt. */
  public long ended() {
    return of(Kind.COMPLETED) + of(Kind.DEAD);
  }

  /** Starts per bucket of {@link Lateness}. */
  public long[] late() {
    return Arrays.copyOfRange(numbers, KINDS, NUMBERS);
  }

  /** The start delay at this percentile, from 0 to 1; null if nothing started. */
  public @Nullable Duration late(double share) {
    return Lateness.percentile(late(), share);
  }

  public boolean isEmpty() {
    return Arrays.stream(numbers).allMatch(n -> n == 0);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Counts counts && Arrays.equals(numbers, counts.numbers);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(numbers);
  }

  @Override
  public String toString() {
    return "Counts" + Arrays.toString(numbers);
  }
}
