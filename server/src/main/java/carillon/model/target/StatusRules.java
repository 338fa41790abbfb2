package carillon.model.target;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The meaning of HTTP response statuses. Statuses in none of the lists have the default meaning.
 *
 * @param success the task is completed
 * @param retry the attempt is retried
 * @param dead the task is dead
 */
public record StatusRules(List<Range> success, List<Range> retry, List<Range> dead) {

  /** The default meaning for every status. */
  public static final StatusRules DEFAULT = new StatusRules(List.of(), List.of(), List.of());

  public static final int MIN = 100;
  public static final int MAX = 599;

  public StatusRules {
    success = List.copyOf(success);
    retry = List.copyOf(retry);
    dead = List.copyOf(dead);
  }

  /** What a status means for the task. */
  public enum Meaning {
    SUCCESS,
    RETRY,
    DEAD,
    /** The task is dead, and the target no longer exists. */
    GONE
  }

  public Meaning of(int status) {
    if (isIn(success, status)) {
      return Meaning.SUCCESS;
    }
    if (isIn(retry, status)) {
      return Meaning.RETRY;
    }
    return isIn(dead, status) ? Meaning.DEAD : defaultMeaning(status);
  }

  private static boolean isIn(List<Range> ranges, int status) {
    for (Range range : ranges) {
      if (range.from() <= status && status <= range.to()) {
        return true;
      }
    }
    return false;
  }

  private static Meaning defaultMeaning(int status) {
    return switch (status) {
      case 408, 425, 429 -> Meaning.RETRY;
      case 410 -> Meaning.GONE;
      default -> {
        if (status >= 500) {
          yield Meaning.RETRY;
        }
        yield status >= 200 && status < 300 ? Meaning.SUCCESS : Meaning.DEAD;
      }
    };
  }

  /** A range of statuses, both ends included. */
  public record Range(int from, int to) {

    private static final Pattern HUNDRED = Pattern.compile("([1-5])xx");
    private static final Pattern SPAN = Pattern.compile("([1-5][0-9]{2})-([1-5][0-9]{2})");

    public static Range of(int status) {
      return new Range(status, status);
    }

    /** Parses {@code 5xx} and {@code 500-503}; empty if it is neither. */
    public static Optional<Range> parse(String text) {
      Matcher hundred = HUNDRED.matcher(text);
      if (hundred.matches()) {
        int first = 100 * Integer.parseInt(hundred.group(1));
        return Optional.of(new Range(first, first + 99));
      }
      Matcher span = SPAN.matcher(text);
      return span.matches()
          ? Optional.of(new Range(Integer.parseInt(span.group(1)), Integer.parseInt(span.group(2))))
              .filter(range -> range.from() <= range.to())
          : Optional.empty();
    }

    public boolean isOne() {
      return from == to;
    }

    /** The first status that is in both ranges, if any. */
    public Optional<Integer> shared(Range other) {
      int first = Math.max(from, other.from);
      return first <= Math.min(to, other.to) ? Optional.of(first) : Optional.empty();
    }

    /** In the form that {@link #parse} accepts. */
    @Override
    public String toString() {
      return from % 100 == 0 && to == from + 99 ? from / 100 + "xx" : from + "-" + to;
    }
  }
}
