package carillon.cli.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One scrape of {@code /metrics}.
 *
 * @param samples all samples
 */
record Metrics(List<Sample> samples) {

  private static final Pattern LINE =
      Pattern.compile("([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{(.*)})?[ \\t]+([^ \\t]+)(?:[ \\t]+.*)?");
  private static final Pattern LABEL =
      Pattern.compile("([a-zA-Z_][a-zA-Z0-9_]*)=\"((?:[^\"\\\\]|\\\\.)*+)\"");

  /** A value with its labels. */
  record Sample(String name, Map<String, String> labels, double value) {}

  Metrics {
    samples = List.copyOf(samples);
  }

  /** Parses the Prometheus text format and ignores everything that is not a sample. */
  static Metrics parse(String text) {
    List<Sample> samples = new ArrayList<>();
    for (String line : text.split("\n", -1)) {
      Matcher matcher = LINE.matcher(line.strip());
      double value = matcher.matches() ? number(matcher.group(3)) : Double.NaN;
      if (!Double.isNaN(value)) {
        samples.add(new Sample(matcher.group(1), labels(matcher.group(2)), value));
      }
    }
    return new Metrics(samples);
  }

  /** The sum over all labels; 0 without samples. */
  double sum(String name) {
    return samples.stream()
        .filter(sample -> sample.name().equals(name))
        .mapToDouble(Sample::value)
        .sum();
  }

  /** The sums by value of a label. */
  Map<String, Double> sumBy(String name, String label) {
    Map<String, Double> sums = new TreeMap<>();
    for (Sample sample : samples) {
      String value = sample.labels().get(label);
      if (sample.name().equals(name) && value != null) {
        sums.merge(value, sample.value(), Double::sum);
      }
    }
    return sums;
  }

  /** The cumulative counts of a histogram by upper bound. */
  NavigableMap<Double, Double> buckets(String histogram) {
    NavigableMap<Double, Double> buckets = new TreeMap<>();
    sumBy(histogram + "_bucket", "le")
        .forEach((bound, count) -> buckets.merge(number(bound), count, Double::sum));
    return buckets;
  }

  private static Map<String, String> labels(@Nullable String text) {
    Map<String, String> labels = new TreeMap<>();
    Matcher matcher = LABEL.matcher(text == null ? "" : text);
    while (matcher.find()) {
      labels.put(matcher.group(1), matcher.group(2));
    }
    return labels;
  }

  private static double number(String text) {
    try {
      return switch (text) {
        case "+Inf" -> Double.POSITIVE_INFINITY;
        case "-Inf" -> Double.NEGATIVE_INFINITY;
        default -> Double.parseDouble(text);
      };
    } catch (NumberFormatException _) {
      return Double.NaN;
    }
  }
}
