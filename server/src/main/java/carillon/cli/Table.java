package carillon.cli;

import carillon.cli.Console.Colour;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/** Prints JSON for people: a list as aligned columns, an object as aligned lines. */
public final class Table {

  private static final int WIDEST_CELL = 60;

  /** This column stands last, and half of what it says would say nothing. */
  private static final String SENTENCE = "note";

  private static final Pattern CAMEL = Pattern.compile("(?<=[a-z])(?=[A-Z])");

  private final Console console;

  public Table(Console console) {
    this.console = console;
  }

  /** The {@code items} of a list answer, and how to get more of them. */
  public void list(JsonNode answer, String... columns) {
    String cursor = answer.path("nextCursor").asString("");
    if (answer.path("items").isEmpty() && !cursor.isEmpty()) {
      console.out().println("no matches on this page");
    } else {
      rows(answer.path("items"), List.of(columns));
    }
    if (!cursor.isEmpty()) {
      console
          .out()
          .println(console.coloured(Colour.FAINT, "next page: --cursor " + Text.visible(cursor)));
    }
  }

  /** One thing: its plain fields first, then a table for each list of objects in it. */
  public void object(JsonNode object) {
    int width =
        object.propertyNames().stream().mapToInt(name -> heading(name).length()).max().orElse(0);
    for (var field : object.properties()) {
      if (!isTable(field.getValue()) && !field.getValue().isNull()) {
        String name = heading(field.getKey());
        String value = cell(field.getValue());
        console
            .out()
            .println(
                console.coloured(Colour.FAINT, padded(name, width))
                    + "  "
                    + highlighted(value, value));
      }
    }
    for (var field : object.properties()) {
      if (isTable(field.getValue())) {
        console.out().println();
        console.out().println(console.bold(heading(field.getKey())));
        rows(field.getValue(), columnsOf(field.getValue()));
      }
    }
  }

  private void rows(JsonNode items, List<String> columns) {
    if (items.isEmpty()) {
      console.out().println("no results");
      return;
    }
    List<List<String>> rows = new ArrayList<>();
    for (JsonNode item : items) {
      rows.add(columns.stream().map(column -> shortened(column, cell(item.path(column)))).toList());
    }
    int[] widths = new int[columns.size()];
    for (int column = 0; column < widths.length; column++) {
      int index = column;
      widths[column] =
          Math.max(
              heading(columns.get(column)).length(),
              rows.stream().mapToInt(row -> row.get(index).length()).max().orElse(0));
    }
    line(
        columns.stream().map(name -> heading(name).toUpperCase(Locale.ROOT)).toList(),
        widths,
        true);
    rows.forEach(row -> line(row, widths, false));
  }

  private void line(List<String> cells, int[] widths, boolean isHeading) {
    StringBuilder line = new StringBuilder();
    for (int column = 0; column < widths.length; column++) {
      boolean isLast = column == widths.length - 1;
      String text = isLast ? cells.get(column) : padded(cells.get(column), widths[column]);
      line.append(isHeading ? console.bold(text) : highlighted(cells.get(column), text))
          .append(isLast ? "" : "  ");
    }
    console.out().println(line);
  }

  private String highlighted(String value, String text) {
    return switch (value) {
      case "COMPLETED" -> console.coloured(Colour.GREEN, text);
      case "DEAD" -> console.coloured(Colour.RED, text);
      case "RUNNING" -> console.coloured(Colour.CYAN, text);
      case "CANCELLED", "EXPIRED" -> console.coloured(Colour.YELLOW, text);
      default -> text;
    };
  }

  private static boolean isTable(JsonNode value) {
    return value.isArray() && !value.isEmpty() && value.path(0).isObject();
  }

  private static List<String> columnsOf(JsonNode items) {
    List<String> columns = new ArrayList<>();
    for (JsonNode item : items) {
      item.propertyNames().stream().filter(name -> !columns.contains(name)).forEach(columns::add);
    }
    return columns;
  }

  private static String cell(JsonNode value) {
    if (value.isMissingNode() || value.isNull()) {
      return "-";
    }
    return Text.visible(value.isValueNode() ? value.asString() : value.toString());
  }

  private static String heading(String name) {
    return Text.visible(CAMEL.matcher(name).replaceAll(" ").toLowerCase(Locale.ROOT));
  }

  private static String shortened(String column, String text) {
    return text.length() <= WIDEST_CELL || column.equals(SENTENCE)
        ? text
        : text.substring(0, WIDEST_CELL - 1) + "…";
  }

  private static String padded(String text, int width) {
    return text + " ".repeat(Math.max(0, width - text.length()));
  }
}
