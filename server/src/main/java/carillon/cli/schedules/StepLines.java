package carillon.cli.schedules;

import carillon.cli.Console;
import carillon.cli.Console.Colour;
import carillon.cli.Text;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.JsonNode;

/** Prints one line per schedule of a file, and the totals. */
final class StepLines {

  private static final int MAX_VALUE_LENGTH = 60;

  private final Console console;

  StepLines(Console console) {
    this.console = console;
  }

  void show(JsonNode result) {
    int width = 0;
    for (JsonNode step : result.path("schedules")) {
      width = Math.max(width, name(step).length());
    }
    for (JsonNode step : result.path("schedules")) {
      console.out().println(line(step, width));
    }
    console.out().println(sum(result));
  }

  private String line(JsonNode step, int width) {
    String name = name(step) + " ".repeat(width - name(step).length());
    String change = step.path("change").asString();
    return switch (change) {
      case "created" -> console.coloured(Colour.GREEN, "+ " + name + "  created");
      case "changed" ->
          console.coloured(
              Colour.YELLOW, "~ " + name + "  changed: " + fields(step.path("fields")));
      case "removed" -> console.coloured(Colour.RED, "- " + name + "  removed");
      default -> console.coloured(Colour.FAINT, "= " + name + "  " + change + notCompared(step));
    };
  }

  /** In a dry run, secrets are not compared; the server does that when the file is applied. */
  private static String notCompared(JsonNode step) {
    List<String> names = new ArrayList<>();
    step.path("notCompared").forEach(each -> names.add(Text.visible(each.asString())));
    return names.isEmpty() ? "" : ", not compared: " + String.join(", ", names);
  }

  private static String name(JsonNode step) {
    return Text.visible(step.path("name").asString());
  }

  private static String fields(JsonNode fields) {
    List<String> shown = new ArrayList<>();
    for (JsonNode field : fields) {
      String name = Text.visible(field.path("field").asString());
      shown.add(
          field.has("hidden")
              ? name + " (hidden)"
              : name + " " + value(field.path("from")) + " → " + value(field.path("to")));
    }
    return String.join(", ", shown);
  }

  private static String value(JsonNode value) {
    String text = value.isNull() ? "none" : Text.visible(value.toString());
    return text.length() <= MAX_VALUE_LENGTH ? text : text.substring(0, MAX_VALUE_LENGTH - 1) + "…";
  }

  private static String sum(JsonNode result) {
    long created = result.path("created").asLong();
    long changed = result.path("changed").asLong();
    long removed = result.path("removed").asLong();
    String counts =
        "%d created, %d changed, %d unchanged, %d removed"
            .formatted(created, changed, result.path("unchanged").asLong(), removed);
    return result.path("dryRun").asBoolean()
        ? "dry run: %d would change (%s)".formatted(created + changed + removed, counts)
        : counts;
  }
}
