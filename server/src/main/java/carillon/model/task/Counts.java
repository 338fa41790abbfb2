package carillon.model.task;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What happened to tasks in some time: how often each thing did, and how late those were that
 * started. Not safe for several threads at once.
 */
public final class Counts {

  /** What can happen, in the order in which it is kept. */
  public enum Kind {
    STARTED(0),
    COMPLETED(1),
    RETRIED(2),
    DEAD(3),
    CANCELLED(4),
    EXPIRED(5);

    private final int place;

    Kind(int place) {
      this.place = place;
    }
  }

  private static final int KINDS = Kind.values().length;

  /** How many numbers there are in all: the kinds, and then the buckets of {@link Lateness}. */
  public static final int NUMBERS = KINDS + Lateness.BUCKETS;

  private final long[] numbers;

  public Counts() {
    this(new long[NUMBERS]);
  }

  private Counts(long[] numbers) {
    this.numbers = numbers;
  }

  /** From all numbers in their order. */
  public static Counts of(long[] numbers) {
    if (numbers.length != NUMBERS) {
      throw new IllegalArgumentException(numbers.length + " numbers instead of " + NUMBERS);
    }
    return new Counts(numbers.clone());
  }

  public void add(Kind kind) {
    numbers[kind.place]++;
  }

  /** One has started that could have done so at another time. */
  public void addStarted(Instant ready, Instant started) {
    numbers[Kind.STARTED.place]++;
    numbers[KINDS + Lateness.bucket(ready, started)]++;
  }

  public void add(Counts others) {
    for (int i = 0; i < NUMBERS; i++) {
      numbers[i] += others.numbers[i];
    }
  }

  /** About so much of it, each number rounded by itself. */
  public Counts share(double part) {
    return new Counts(Arrays.stream(numbers).map(n -> Math.round(n * part)).toArray());
  }

  public long of(Kind kind) {
    return numbers[kind.place];
  }

  /** Tasks that came to an end by being tried. */
  public long ended() {
    return of(Kind.COMPLETED) + of(Kind.DEAD);
  }

  /** Of those started, by the buckets of {@link Lateness}. */
  public long[] late() {
    return Arrays.copyOfRange(numbers, KINDS, NUMBERS);
  }

  /** How late the given share of those started was at most. */
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
