package carillon.cli.schedules;

import carillon.cli.ApiCommand;
import carillon.cli.Console;
import carillon.cli.Table;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Shows a schedule, or a preview of one: its next times below, in its own time and in UTC, with
 * what is special about them.
 */
final class ScheduleView {

  private static final String NEXT = "nextRuns";
  private static final DateTimeFormatter LOCAL =
      DateTimeFormatter.ofPattern("EEE uuuu-MM-dd HH:mm:ss xxx", Locale.ENGLISH);

  private ScheduleView() {}

  static void show(Console console, JsonNode answer) {
    if (answer instanceof ObjectNode schedule) {
      makeReadable(schedule);
    }
    new Table(console).object(answer);
    if (answer.path(NEXT).isArray() && answer.path(NEXT).isEmpty()) {
      console.out().println();
      console.out().println("no next runs");
    }
  }

  private static void makeReadable(ObjectNode schedule) {
    if (schedule.path(NEXT).isArray()) {
      schedule.set(NEXT, times(schedule.path(NEXT)));
    }
    if (schedule.path("lastRun").isObject()) {
      schedule.put("lastRun", fire(schedule.path("lastRun")));
    }
    if (schedule.path("counters").isObject()) {
      schedule.put("counters", counters(schedule.path("counters")));
    }
  }

  private static ArrayNode times(JsonNode runs) {
    ArrayNode lines = ApiCommand.JSON.createArrayNode();
    for (JsonNode run : runs) {
      ObjectNode line = lines.addObject();
      line.put("local", local(run.path("local").asString("")));
      line.put(
          "utc", run.path("skipped").asBoolean(false) ? "skipped" : run.path("at").asString("-"));
      line.set("note", run.path("note"));
    }
    return lines;
  }

  /**
   * With the day of the week, and without the zone, which is the same in each line. By the offset
   * that the server says: our own zone data may be of another year.
   */
  private static String local(String text) {
    int zone = text.indexOf('[');
    try {
      return OffsetDateTime.parse(zone < 0 ? text : text.substring(0, zone)).format(LOCAL);
    } catch (DateTimeParseException e) {
      return text;
    }
  }

  private static String fire(JsonNode fire) {
    String what =
        fire.path("outcome").asString("").equals("skipped")
            ? "skipped: " + fire.path("reason").asString("-")
            : fire.path("status").asString("-") + ", task " + fire.path("taskId").asString("-");
    return fire.path("at").asString("-") + " " + what;
  }

  /** Of what was skipped only what was. */
  private static String counters(JsonNode counters) {
    String skipped =
        counters.path("skipped").properties().stream()
            .filter(reason -> reason.getValue().asLong(0) > 0)
            .map(reason -> reason.getValue().asString() + " " + reason.getKey())
            .collect(Collectors.joining(", "));
    String all =
        counters.properties().stream()
            .filter(counter -> counter.getValue().isNumber())
            .map(counter -> counter.getValue().asString() + " " + counter.getKey())
            .collect(Collectors.joining(", "));
    return skipped.isEmpty() ? all : all + "; skipped: " + skipped;
  }
}
