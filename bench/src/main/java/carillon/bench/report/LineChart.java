package carillon.bench.report;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** Values over time, in panels one above the other, as SVG. */
final class LineChart {

  private static final List<String> COLOURS = List.of("#2f6db3", "#e08a2c", "#3c9a6b", "#b5493f");
  private static final String BLACK = "#222222";
  private static final int LEFT = 70;
  private static final int WIDTH = 740;
  private static final int HEIGHT = 90;
  private static final int STEP = HEIGHT + 46;
  private static final int TOP = 64;

  private final String title;
  private final List<Double> minutes;
  private final double shadedFrom;
  private final double shadedTo;
  private final StringBuilder body = new StringBuilder();
  private int panels;

  record Line(String name, List<Double> values) {}

  /**
   * @param minutes the times of all values
   * @param shadedFrom where the background is darker, in minutes
   */
  LineChart(String title, List<Double> minutes, double shadedFrom, double shadedTo) {
    this.title = title;
    this.minutes = minutes;
    this.shadedFrom = shadedFrom;
    this.shadedTo = shadedTo;
  }

  /** Adds a panel, whose lines share a scale from 0 to the largest value. */
  void panel(String heading, List<Line> lines) {
    int y = TOP + STEP * panels++;
    double max = 0;
    for (Line line : lines) {
      max = Math.max(max, line.values.isEmpty() ? 0 : Collections.max(line.values));
    }
    double shaded = Math.max(0, x(shadedTo) - x(shadedFrom));
    body.append(
        "<rect x=\"%s\" y=\"%d\" width=\"%s\" height=\"%d\" fill=\"#e9edf2\"/>\n"
            .formatted(number(x(shadedFrom)), y, number(shaded), HEIGHT));
    body.append(
        "<path d=\"M%d %dv%dh%d\" fill=\"none\" stroke=\"#8a8f98\"/>\n"
            .formatted(LEFT, y, HEIGHT, WIDTH));
    text(LEFT, y - 6, "start", BLACK, heading);
    text(LEFT - 6, y + 10, "end", BLACK, Report.number(max, max < 100 ? 1 : 0));
    text(LEFT - 6, y + HEIGHT, "end", BLACK, "0");
    text(LEFT + WIDTH, y + HEIGHT + 14, "end", BLACK, number(last()) + " min");
    for (int i = 0; i < lines.size(); i++) {
      Line line = lines.get(i);
      String colour = COLOURS.get(i % COLOURS.size());
      double scale = max == 0 ? 0 : HEIGHT / max;
      List<String> points = new ArrayList<>();
      for (int p = 0; p < minutes.size(); p++) {
        points.add(
            number(x(minutes.get(p))) + "," + number(y + HEIGHT - line.values.get(p) * scale));
      }
      body.append(
          "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n"
              .formatted(String.join(" ", points), colour));
      text(LEFT + 240 + i * 150, y - 6, "start", colour, line.name);
    }
  }

  private double last() {
    return minutes.isEmpty() ? 1 : minutes.getLast();
  }

  private double x(double minute) {
    return LEFT + WIDTH * Math.clamp(minute / last(), 0, 1);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }

  private void text(int x, int y, String anchor, String colour, String text) {
    body.append(
        "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n"
            .formatted(x, y, anchor, colour, text));
  }

  String svg() {
    return """
    <svg xmlns="http://www.w3.org/2000/svg" width="%1$d" height="%2$d" font-family="sans-serif" font-size="12">
    <rect width="%1$d" height="%2$d" fill="#ffffff"/>
    <text x="12" y="24" font-size="15" font-weight="bold" fill="#222222">%3$s</text>
    %4$s</svg>
    """
        .formatted(LEFT + WIDTH + 20, TOP + STEP * panels, title, body);
  }
}
