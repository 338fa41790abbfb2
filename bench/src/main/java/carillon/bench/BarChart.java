package carillon.bench;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/** Horizontal bars with their values, as SVG. */
final class BarChart {

  private static final List<String> COLOURS = List.of("#3b6ea5", "#e0a030", "#b04a4a");
  private static final int LEFT = 170;
  private static final int WIDTH = 480;
  private static final int RIGHT = 130;
  private static final int BAR = 14;
  private static final int TOP = 50;

  private final String title;
  private final boolean logarithmic;
  private final List<Bar> bars = new ArrayList<>();

  private record Bar(String group, String series, double value, int decimals) {}

  BarChart(String title, boolean logarithmic) {
    this.title = title;
    this.logarithmic = logarithmic;
  }

  void add(String group, String series, double value, int decimals) {
    bars.add(new Bar(group, series, value, decimals));
  }

  String svg() {
    double max = bars.stream().mapToDouble(Bar::value).max().orElse(1);
    Set<String> series =
        bars.stream().map(Bar::series).collect(Collectors.toCollection(LinkedHashSet::new));
    List<String> colours = new ArrayList<>(series);
    StringBuilder body = new StringBuilder();
    int y = TOP;
    String group = "";
    for (Bar bar : bars) {
      if (!bar.group.equals(group)) {
        y += 8;
        group = bar.group;
        body.append(text(LEFT - 8, y + BAR - 3, "end", group));
      }
      String colour = COLOURS.get(colours.indexOf(bar.series) % COLOURS.size());
      double length = length(bar.value, max);
      body.append(rectangle(LEFT, y, length, colour));
      body.append(
          text(LEFT + length + 5, y + BAR - 3, "start", Report.number(bar.value, bar.decimals)));
      y += BAR + 2;
    }
    return """
    <svg xmlns="http://www.w3.org/2000/svg" width="%1$d" height="%2$d" font-family="sans-serif" font-size="12">
    <rect width="%1$d" height="%2$d" fill="#ffffff"/>
    %3$s%4$s%5$s</svg>
    """
        .formatted(
            LEFT + WIDTH + RIGHT,
            y + 12,
            "<text x=\"12\" y=\"22\" font-size=\"15\" font-weight=\"bold\">"
                + escaped(title)
                + "</text>\n",
            series.size() > 1 ? legend(colours) : "",
            body);
  }

  /** On a logarithmic scale from a tenth; what is below has no length. */
  private double length(double value, double max) {
    double share =
        logarithmic ? Math.log10(value * 10) / Math.max(1, Math.log10(max * 10)) : value / max;
    return WIDTH * Math.clamp(share, 0, 1);
  }

  private static String legend(List<String> series) {
    StringBuilder legend = new StringBuilder();
    for (int i = 0; i < series.size(); i++) {
      int x = LEFT + i * 130;
      legend.append(rectangle(x, 33, BAR, COLOURS.get(i % COLOURS.size())));
      legend.append(text(x + BAR + 5, 33 + BAR - 3, "start", series.get(i)));
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

  private static String text(double x, int y, String anchor, String text) {
    return String.format(
        Locale.ROOT,
        "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\" fill=\"#222222\">%s</text>%n",
        x,
        y,
        anchor,
        escaped(text));
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }
}
