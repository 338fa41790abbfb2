package carillon.bench.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Horizontal bars with their values, in groups, as SVG. */
final class BarChart {

  /** How the length of a bar is computed. */
  enum Scale {
    /** The longest bar of each group has full length: only bars of one group are comparable. */
    OF_GROUP,

    /** From 0.1 to the largest value of all; smaller values have no length. */
    LOGARITHMIC
  }

  /** The colour of each system; any other label gets {@link #OTHER}. */
  private static final Map<String, String> SYSTEMS =
      Map.of(
          "carillon", "#2f6db3",
          "sql", "#8a8f98",
          "raw", "#b9bec6",
          "graphile-worker", "#e08a2c",
          "pg-boss", "#3c9a6b",
          "db-scheduler", "#b5493f",
          "jobrunr", "#8465b0",
          "quartz", "#a07a4f",
          "bullmq", "#d06a9c");

  private static final List<String> SERIES = List.of("#7fb2e5", "#2f6db3", "#e08a2c", "#b5493f");
  private static final String OTHER = "#6fa8dc";
  private static final int LEFT = 210;
  private static final int WIDTH = 520;
  private static final int RIGHT = 90;
  private static final int BAR = 13;
  private static final int TOP = 44;

  private final String title;
  private final Scale scale;
  private final Map<String, List<Bar>> groups = new LinkedHashMap<>();

  private record Bar(String label, String series, double value, int decimals) {}

  BarChart(String title, Scale scale) {
    this.title = title;
    this.scale = scale;
  }

  void add(String group, String label, String series, double value, int decimals) {
    groups
        .computeIfAbsent(group, _ -> new ArrayList<>())
        .add(new Bar(label, series, value, decimals));
  }

  String svg() {
    List<String> series = series();
    StringBuilder body = new StringBuilder();
    int y = TOP + (series.size() > 1 ? BAR + 8 : 0);
    for (Map.Entry<String, List<Bar>> group : groups.entrySet()) {
      y += 12;
      body.append(text(12, y + BAR - 2, "start", group.getKey(), "bold"));
      double max = max(group.getValue());
      String label = "";
      for (Bar bar : group.getValue()) {
        if (!bar.label.equals(label)) {
          y += 2;
          label = bar.label;
          body.append(
              text(
                  LEFT - 8,
                  y + BAR - 2,
                  "end",
                  label,
                  label.equals("carillon") ? "bold" : "normal"));
        }
        double length = length(bar.value, max);
        body.append(rectangle(LEFT, y, length, colour(bar, series)));
        String value = Report.number(bar.value, bar.decimals);
        body.append(text(LEFT + length + 5, y + BAR - 2, "start", value, "normal"));
        y += BAR + 2;
      }
    }
    return """
    <svg xmlns="http://www.w3.org/2000/svg" width="%1$d" height="%2$d" font-family="sans-serif" font-size="12">
    <rect width="%1$d" height="%2$d" fill="#ffffff"/>
    <text x="12" y="24" font-size="15" font-weight="bold" fill="#222222">%3$s</text>
    %4$s%5$s</svg>
    """
        .formatted(
            LEFT + WIDTH + RIGHT,
            y + 14,
            escaped(title),
            series.size() > 1 ? legend(series) : "",
            body);
  }

  private List<String> series() {
    Set<String> names = new LinkedHashSet<>();
    groups.values().forEach(bars -> bars.forEach(bar -> names.add(bar.series)));
    return new ArrayList<>(names);
  }

  private double max(List<Bar> group) {
    List<Bar> compared =
        scale == Scale.OF_GROUP ? group : groups.values().stream().flatMap(List::stream).toList();
    return compared.stream().mapToDouble(Bar::value).max().orElse(1);
  }

  /** With a single series, the colours distinguish the systems. */
  private static String colour(Bar bar, List<String> series) {
    return series.size() > 1
        ? SERIES.get(series.indexOf(bar.series) % SERIES.size())
        : SYSTEMS.getOrDefault(bar.label, OTHER);
  }

  private double length(double value, double max) {
    double share =
        switch (scale) {
          case OF_GROUP -> value / max;
          case LOGARITHMIC -> Math.log10(value * 10) / Math.max(1, Math.log10(max * 10));
        };
    return WIDTH * (Double.isNaN(share) ? 0 : Math.clamp(share, 0, 1));
  }

  private static String legend(List<String> series) {
    StringBuilder legend = new StringBuilder();
    for (int i = 0; i < series.size(); i++) {
      int x = LEFT + i * 120;
      legend.append(rectangle(x, 38, BAR, SERIES.get(i % SERIES.size())));
      legend.append(text(x + BAR + 5, 38 + BAR - 2, "start", series.get(i), "normal"));
    }
    return legend.toString();
  }

  private static String rectangle(double x, int y, double width, String colour) {
    return String.format(
        Locale.ROOT,
        "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>%n",
        x,
        y,
        width,
        BAR,
        colour);
  }

  private static String text(double x, int y, String anchor, String text, String weight) {
    return String.format(
        Locale.ROOT,
        "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\" font-weight=\"%s\""
            + " fill=\"#222222\">%s</text>%n",
        x,
        y,
        anchor,
        weight,
        escaped(text));
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }
}
