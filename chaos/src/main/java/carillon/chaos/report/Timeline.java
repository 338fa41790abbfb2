package carillon.chaos.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Draws a run as SVG: events per second, and the faults below them. */
final class Timeline {

  private static final int WIDTH = 1080;
  private static final int LEFT = 78;
  private static final int RIGHT = 20;
  private static final int TOP = 62;
  private static final int PLOT = 190;
  private static final int ROW = 19;
  private static final int LETTER = 6;

  private static final String INK = "#1f2933";
  private static final String PALE = "#7b8794";
  private static final String GRID = "#e4e7eb";
  private static final String DELIVERED = "#0f9d76";
  private static final String ACKNOWLEDGED = "#2f6fdd";
  private static final String UNKNOWN = "#d64545";

  private final Series series;
  private final String title;
  private final StringBuilder svg = new StringBuilder();
  private final double scale;

  private Timeline(Series series, String title) {
    this.series = series;
    this.title = title;
    this.scale = (double) (WIDTH - LEFT - RIGHT) / Math.max(1, series.seconds());
  }

  static String of(Seed seed) {
    return new Timeline(new Series(seed.history()), "Seed " + seed.name()).draw();
  }

  private String draw() {
    Map<String, List<List<Series.Band>>> rows = rows();
    int lines = rows.values().stream().mapToInt(List::size).sum();
    int height = TOP + PLOT + 44 + lines * ROW + rows.size() * 5 + 16;
    add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\""
            + " font-family=\"ui-sans-serif, system-ui, 'Helvetica Neue', Arial, sans-serif\""
            + " font-size=\"11\">",
        WIDTH, height, WIDTH, height);
    add("<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>", WIDTH, height);
    text(LEFT, 22, INK, "start", "font-size=\"15\" font-weight=\"600\"", title);
    legend();
    phases(height);
    axes();
    curves();
    bands(rows);
    add("</svg>");
    return svg.toString();
  }

  @SuppressWarnings("AnnotateFormatMethod") // would be a dependency for one method
  private void add(String line, Object... values) {
    svg.append(String.format(Locale.ROOT, line, values)).append('\n');
  }

  private void text(double x, double y, String colour, String anchor, String more, String words) {
    add(
        "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\" text-anchor=\"%s\" %s>%s</text>",
        x, y, colour, anchor, more, escaped(words));
  }

  private static String escaped(String words) {
    return words.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }

  private double x(double second) {
    return LEFT + Math.min(second, series.seconds()) * scale;
  }

  private void legend() {
    double x = LEFT + 130;
    Map<String, String> entries = new LinkedHashMap<>();
    entries.put("deliveries accepted per second", DELIVERED);
    entries.put("submits acknowledged per second", ACKNOWLEDGED);
    entries.put("submits with unknown outcome", UNKNOWN);
    for (Map.Entry<String, String> entry : entries.entrySet()) {
      add(
          "<rect x=\"%.1f\" y=\"14\" width=\"14\" height=\"4\" rx=\"2\" fill=\"%s\"/>",
          x, entry.getValue());
      text(x + 20, 20, PALE, "start", "", entry.getKey());
      x += 36 + entry.getKey().length() * LETTER;
    }
  }

  private void phases(int height) {
    List<Series.Phase> phases = series.phases();
    for (int i = 0; i < phases.size(); i++) {
      double from = x(phases.get(i).from());
      double until = i + 1 < phases.size() ? x(phases.get(i + 1).from()) : x(series.seconds());
      if (i % 2 == 1) {
        add(
            "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#f5f7fa\"/>",
            from, TOP - 18, Math.max(0, until - from), height - TOP + 4);
      }
      if (until - from > phases.get(i).name().length() * LETTER) {
        text((from + until) / 2, TOP - 6, PALE, "middle", "", phases.get(i).name());
      }
    }
  }

  private void axes() {
    int max = max();
    int step = step(max, 4);
    for (int value = 0; value <= max; value += step) {
      double y = y(value, max);
      add(
          "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>",
          LEFT, WIDTH - RIGHT, y, y, GRID);
      text(LEFT - 8, y + 4, PALE, "end", "", String.valueOf(value));
    }
    int seconds = step(series.seconds(), 10);
    for (int second = 0; second <= series.seconds(); second += seconds) {
      text(x(second), TOP + PLOT + 16, PALE, "middle", "", second + " s");
    }
  }

  private int max() {
    int max = 10;
    for (int[] counts : List.of(series.delivered(), series.acknowledged(), series.unknown())) {
      max = Math.max(max, Arrays.stream(counts).max().orElse(0));
    }
    return max;
  }

  /**
   * The step between ticks: 1, 2 or 5 times a power of ten, for about the wanted number of ticks.
   */
  private static int step(int max, int parts) {
    int power = 1;
    while (true) {
      for (int each : new int[] {1, 2, 5}) {
        if (max <= (long) each * power * parts) {
          return each * power;
        }
      }
      power *= 10;
    }
  }

  private double y(double value, int max) {
    return TOP + PLOT - value * PLOT / (max * 1.05);
  }

  private void curves() {
    int max = max();
    area(series.delivered(), max);
    curve(series.acknowledged(), max, ACKNOWLEDGED);
    curve(series.delivered(), max, DELIVERED);
    int[] unknown = series.unknown();
    for (int second = 0; second < unknown.length; second++) {
      if (unknown[second] > 0) {
        double y = y(unknown[second], max);
        add(
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>",
            x(second) + scale * 0.2, y, scale * 0.6, TOP + PLOT - y, UNKNOWN);
      }
    }
  }

  private void area(int[] counts, int max) {
    StringBuilder path = new StringBuilder(point("M", 0.5, 0, max));
    for (int second = 0; second < counts.length; second++) {
      path.append(point("L", second + 0.5, counts[second], max));
    }
    path.append(point("L", counts.length - 0.5, 0, max)).append('Z');
    add("<path d=\"%s\" fill=\"%s\" fill-opacity=\"0.10\"/>", path, DELIVERED);
  }

  private void curve(int[] counts, int max, String colour) {
    StringBuilder path = new StringBuilder();
    for (int second = 0; second < counts.length; second++) {
      path.append(point(second == 0 ? "M" : "L", second + 0.5, counts[second], max));
    }
    add(
        "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\""
            + " stroke-linejoin=\"round\"/>",
        path, colour);
  }

  private String point(String command, double second, double value, int max) {
    return String.format(Locale.ROOT, "%s%.1f %.1f", command, x(second), y(value, max));
  }

  /** Bands of one row whose bars or labels would overlap are drawn on separate lines. */
  private Map<String, List<List<Series.Band>>> rows() {
    Map<String, List<List<Series.Band>>> rows = new TreeMap<>();
    for (Series.Band band : series.faults()) {
      List<List<Series.Band>> lines = rows.computeIfAbsent(band.row(), _ -> new ArrayList<>());
      List<Series.Band> free = null;
      for (List<Series.Band> line : lines) {
        if (free == null && end(line.getLast()) < x(band.from())) {
          free = line;
        }
      }
      if (free == null) {
        free = new ArrayList<>();
        lines.add(free);
      }
      free.add(band);
    }
    return rows;
  }

  private double end(Series.Band band) {
    double width = Math.max(3, x(band.until()) - x(band.from()));
    double label = width < labelWidth(band) ? labelWidth(band) : 0;
    return x(band.from()) + width + label + 4;
  }

  private static double labelWidth(Series.Band band) {
    return 8 + band.kind().length() * LETTER;
  }

  private void bands(Map<String, List<List<Series.Band>>> rows) {
    double y = TOP + PLOT + 40;
    for (Map.Entry<String, List<List<Series.Band>>> row : rows.entrySet()) {
      text(LEFT - 8, y + 11, INK, "end", "", row.getKey());
      for (List<Series.Band> line : row.getValue()) {
        for (Series.Band band : line) {
          band(band, y);
        }
        y += ROW;
      }
      y += 5;
    }
  }

  private void band(Series.Band band, double y) {
    double from = x(band.from());
    double width = Math.max(3, x(band.until()) - from);
    add(
        "<g><title>%s on %s, %.1f s to %.1f s</title>"
            + "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>",
        escaped(band.kind()),
        escaped(band.row()),
        band.from(),
        band.until(),
        from,
        y,
        width,
        ROW - 4,
        colour(band.kind()));
    double labelX = width < labelWidth(band) ? from + width + 3 : from + 4;
    text(labelX, y + 11, INK, "start", "font-size=\"10\"", band.kind());
    add("</g>");
  }

  /** The colour shows the kind of fault: kills, pauses, database, locks, network. */
  private static String colour(String kind) {
    if (kind.contains("kill") || kind.equals("sigterm")) {
      return "#f4a9a0";
    }
    if (kind.contains("pause") || kind.equals("flap")) {
      return "#f7d28c";
    }
    if (kind.startsWith("pg-")) {
      return "#c9b2ec";
    }
    if (kind.startsWith("held") || kind.startsWith("lock")) {
      return "#cfd6df";
    }
    return "#a9d1f5";
  }
}
