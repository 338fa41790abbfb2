package carillon.cli.cluster;

import carillon.cli.Console.Colour;
import carillon.cli.Line;
import carillon.cli.Line.Piece;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One row per node. Drops the least important columns on narrow terminals. */
final class ClusterTable {

  static final int BAR_WIDTH = 16;

  private static final int MIN_NODE_WIDTH = 12;

  /** From left to right. Columns with a higher rank are dropped first. */
  enum Column {
    MARK("", 0, false),
    NODE("NODE", 0, false),
    STATUS("STATUS", 1, false),
    ROLES("ROLES", 9, false),
    IN_FLIGHT("IN FLIGHT", 6, true),
    CLAIMED("CLAIMED/S", 3, true),
    ENDED("FINISHED/S", 4, true),
    LAG("LAG", 5, true),
    CLOCK("CLOCK", 7, true),
    HEARTBEAT("HEARTBEAT", 8, true),
    UP("UP", 11, true),
    SHARDS("SHARDS", 2, true),
    BAR("", 10, false),
    VERSION("VERSION", 12, false),
    ADDRESS("ADDRESS", 13, false);

    private final String heading;
    private final int rank;
    private final boolean isNumber;

    Column(String heading, int rank, boolean isNumber) {
      this.heading = heading;
      this.rank = rank;
      this.isNumber = isNumber;
    }

    private String gap() {
      return this == MARK ? " " : "  ";
    }

    private String padded(String text, int width) {
      String blanks = " ".repeat(Math.max(0, width - text.length()));
      return isNumber ? blanks + text : text + blanks;
    }
  }

  private final int rows;
  private final Map<Column, List<String>> cells = new EnumMap<>(Column.class);

  ClusterTable(int rows) {
    this.rows = rows;
  }

  void add(Column column, List<String> values) {
    cells.put(column, values);
  }

  /**
   * The heading and a line for each node.
   *
   * @param height maximum number of lines; the last one then counts the nodes that are not shown
   */
  List<Line> lines(int width, int height) {
    Map<Column, Integer> widths = widths();
    fit(widths, width);
    List<Line> lines = new ArrayList<>();
    lines.add(line(widths, -1));
    int shown = rows < height ? rows : Math.max(0, height - 2);
    for (int row = 0; row < shown; row++) {
      lines.add(line(widths, row));
    }
    if (shown < rows) {
      lines.add(Line.of(new Piece("and " + (rows - shown) + " more", Colour.FAINT)));
    }
    return lines;
  }

  private Map<Column, Integer> widths() {
    Map<Column, Integer> widths = new EnumMap<>(Column.class);
    cells.forEach(
        (column, values) ->
            widths.put(
                column,
                Math.max(
                    column.heading.length(),
                    values.stream().mapToInt(String::length).max().orElse(0))));
    return widths;
  }

  /** Truncates names only as a last resort, because names differ at their ends. */
  private static void fit(Map<Column, Integer> widths, int width) {
    while (true) {
      int over = total(widths) - width;
      if (over <= 0) {
        return;
      }
      Column least =
          widths.keySet().stream()
              .max(Comparator.comparingInt(column -> column.rank))
              .orElseThrow();
      if (least.rank > 0) {
        widths.remove(least);
      } else {
        widths.computeIfPresent(
            Column.NODE, (_, now) -> Math.max(Math.min(now, MIN_NODE_WIDTH), now - over));
        return;
      }
    }
  }

  private static int total(Map<Column, Integer> widths) {
    int total = 0;
    for (Map.Entry<Column, Integer> column : widths.entrySet()) {
      total += column.getValue() + column.getKey().gap().length();
    }
    return total - 2; // none after the last
  }

  /**
   * @param row -1 for the headings
   */
  private Line line(Map<Column, Integer> widths, int row) {
    List<Piece> pieces = new ArrayList<>();
    widths.forEach(
        (column, width) -> {
          String text = row < 0 ? column.heading : cells.getOrDefault(column, List.of()).get(row);
          String cell = text.length() <= width ? text : text.substring(0, width - 1) + "…";
          pieces.add(
              new Piece(column.padded(cell, width), row < 0 ? Colour.BOLD : colour(column, text)));
          pieces.add(new Piece(column.gap(), null));
        });
    pieces.removeLast();
    return new Line(pieces);
  }

  private static @Nullable Colour colour(Column column, String text) {
    return switch (column) {
      case MARK -> Colour.BOLD;
      case STATUS ->
          switch (text) {
            case "ALIVE" -> Colour.GREEN;
            case "DRAINING" -> Colour.YELLOW;
            case ClusterPage.NOT_RESPONDING -> Colour.RED;
            default -> null;
          };
      case BAR -> Colour.CYAN;
      default -> null;
    };
  }
}
