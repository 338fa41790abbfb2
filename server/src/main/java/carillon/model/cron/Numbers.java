package carillon.model.cron;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * A list of numbers and its description in English.
 *
 * @param values at least one, ascending
 */
record Numbers(List<Integer> values) {

  private static final int MIN_RUN = 3;

  /** A longer sequence with a constant step is described instead of listed. */
  private static final int MAX_LIST = 10;

  /** The numbers of the set bits. */
  static Numbers of(long bits) {
    List<Integer> values = new ArrayList<>();
    for (long rest = bits; rest != 0; rest &= rest - 1) {
      values.add(Long.numberOfTrailingZeros(rest));
    }
    return new Numbers(values);
  }

  int size() {
    return values.size();
  }

  int first() {
    return values.getFirst();
  }

  int last() {
    return values.getLast();
  }

  boolean isOnly(int value) {
    return size() == 1 && first() == value;
  }

  boolean isRun() {
    return size() >= MIN_RUN && last() - first() == size() - 1;
  }

  /** The constant step with which the numbers cover a cycle of this length; 0 if there is none. */
  int step(int cycle) {
    int step = cycle / size();
    return size() > 1 && first() == 0 && step * size() == cycle && distance() == step ? step : 0;
  }

  /** The constant difference between neighbours; 0 if it varies. */
  private int distance() {
    int distance = values.get(1) - first();
    for (int i = 1; i < size(); i++) {
      if (values.get(i) - values.get(i - 1) != distance) {
        return 0;
      }
    }
    return distance;
  }

  /** For example "minute 5", "minutes 5 and 10", "every 2nd minute from 1 through 59". */
  String counted(String unit) {
    if (size() == 1) {
      return unit + " " + first();
    }
    if (size() > MAX_LIST && distance() > 1) {
      return "every %s %s from %d through %d".formatted(ordinal(distance()), unit, first(), last());
    }
    return unit + "s " + list(runs(String::valueOf));
  }

  /** The names of the numbers, with runs as "a through b". */
  List<String> runs(IntFunction<String> name) {
    List<String> runs = new ArrayList<>();
    int start = 0;
    while (start < size()) {
      int end = start;
      while (end + 1 < size() && values.get(end + 1) == values.get(end) + 1) {
        end++;
      }
      if (end - start + 1 >= MIN_RUN) {
        runs.add(name.apply(values.get(start)) + " through " + name.apply(values.get(end)));
      } else {
        values.subList(start, end + 1).forEach(value -> runs.add(name.apply(value)));
      }
      start = end + 1;
    }
    return runs;
  }

  /** For example "a, b and c". */
  static String list(List<String> words) {
    int last = words.size() - 1;
    return last == 0
        ? words.getFirst()
        : String.join(", ", words.subList(0, last)) + " and " + words.get(last);
  }

  static String ordinal(int number) {
    String ending =
        switch (number % 100 / 10 == 1 ? 0 : number % 10) {
          case 1 -> "st";
          case 2 -> "nd";
          case 3 -> "rd";
          default -> "th";
        };
    return number + ending;
  }
}
