package carillon.bench.figures;

import java.util.Arrays;

/** Exact percentiles of times, in milliseconds, from all values sorted. */
public final class Percentiles {

  private final double[] sorted;

  private Percentiles(double[] sorted) {
    this.sorted = sorted;
  }

  public static Percentiles ofMillis(double[] millis) {
    if (millis.length == 0) {
      throw new IllegalArgumentException("nothing was measured");
    }
    double[] sorted = millis.clone();
    Arrays.sort(sorted);
    return new Percentiles(sorted);
  }

  public static Percentiles ofNanos(long[] nanos) {
    return ofMillis(Arrays.stream(nanos).mapToDouble(n -> n / 1e6).toArray());
  }

  /**
   * The smallest value such that at least {@code percent} percent of all values are less than or
   * equal to it.
   */
  public double at(double percent) {
    int rank = (int) Math.ceil(percent / 100 * sorted.length);
    return sorted[Math.clamp(rank - 1, 0, sorted.length - 1)];
  }

  public Times times() {
    return new Times(at(50), at(99), at(100));
  }

  double min() {
    return sorted[0];
  }
}
