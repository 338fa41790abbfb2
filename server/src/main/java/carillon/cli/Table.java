package carillon.cli;

import carillon.cli.Console.Colour;
import carillon.model.Durations;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;

/** Prints JSON for people: a list as columns, an object as lines. */
public final class Table {

  private static final int MAX_CELL_WIDTH = 60;

  /** The last column, a sentence that is never truncated. */
  private static final String NOTE = "note";

  private static final Set<String> DURATIONS =
      Set.of(
          "base",
          "catchUpWindow",
          "duration",
          "every",
          "jitter",
          "lag",
          "leaseTimeout",
          "max",
          "maxAge",
          "schedule",
          "timeout",
          "ttl");

  private static final Set<String> TARGETS = Set.of("target", "onComplete", "onDead");
  private static final Set<String> SETTINGS = Set.of("dst", "retry");

  private static final Pattern CAMEL = Pattern.compile("(?<=[a-z])(?=[A-Z])");

  private final Console console;

  public Table(Console console) {
    this.console = console;
  }

  /** Prints the {@code items} of a response and the cursor of the next page. */
  public void list(JsonNode response, String... columns) {
    String cursor = response.path("nextCursor").asString("");
    if (response.path("items").isEmpty() && !cursor.isEmpty()) {
      console.out().println("no matches on this page");
    } else {
      rows(response.path("items"), List.of(columns));
    }
    if (!cursor.isEmpty()) {
      console
          .out()
          .println(console.coloured(Colour.FAINT, "next page: --cursor " + Text.visible(cursor)));
    }
  }

  /** Prints the plain fields of an object, then a table for each list of objects in it. */
  public void object(JsonNode object) {
    int width =
        object.propertyNames().stream().mapToInt(name -> heading(name).length()).max().orElse(0);
    for (var field : object.properties()) {
      if (!isTable(field.getValue()) && !field.getValue().isNull()) {
        String name = heading(field.getKey());
        String value = detail(field.getKey(), field.getValue());
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
      rows.add(columns.stream().map(column -> shortened(column, cell(item, column))).toList());
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

  /** The value of a column, in short form. */
  private static String cell(JsonNode item, String column) {
    JsonNode value = item.path(column);
    if (column.equals("error") && value.path("status").isNumber()) {
      String body = item.path("output").asString("");
      String reason = body.isEmpty() ? value.path("message").asString("") : body;
      return Text.visible("HTTP " + value.path("status").asString() + ": " + reason);
    }
    if (column.equals("target") && value.path("http").isObject()) {
      return Text.visible(
          value.path("http").path("method").asString("POST")
              + " "
              + value.path("http").path("url").asString(""));
    }
    if (column.equals("types") && value.isArray() && value.isEmpty()) {
      return "all";
    }
    return detail(column, value);
  }

  private static String detail(String name, JsonNode value) {
    if (value.isMissingNode() || value.isNull()) {
      return "-";
    }
    if (DURATIONS.contains(name) && value.isString()) {
      return Text.visible(
          Durations.parse(value.asString()).map(Durations::format).orElse(value.asString()));
    }
    if (name.equals("error") && value.path("message").isString()) {
      return Text.visible(value.path("message").asString());
    }
    if (TARGETS.contains(name) && value.isObject() && value.size() == 1) {
      var target = value.properties().iterator().next();
      return target.getValue().isEmpty() ? Text.visible(target.getKey()) : visible(value);
    }
    if (SETTINGS.contains(name) && value.isObject()) {
      return value.properties().stream()
          .map(field -> heading(field.getKey()) + " " + detail(field.getKey(), field.getValue()))
          .collect(Collectors.joining(", "));
    }
    return visible(value);
  }

  private static String visible(JsonNode value) {
    return Text.visible(value.isValueNode() ? value.asString() : value.toString());
  }

  private static String heading(String name) {
    return Text.visible(CAMEL.matcher(name).replaceAll(" ").toLowerCase(Locale.ROOT));
  }

  private static String shortened(String column, String text) {
    return text.length() <= MAX_CELL_WIDTH || column.equals(NOTE)
        ? text
        : text.substring(0, MAX_CELL_WIDTH - 1) + "…";
  }

  private static String padded(String text, int width) {
    return text + " ".repeat(Math.max(0, width - text.length()));
  }
}
