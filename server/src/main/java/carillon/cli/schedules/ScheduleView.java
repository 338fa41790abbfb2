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

/** Shows a schedule or a preview, with its next runs in its own time zone and in UTC. */
final class ScheduleView {

  private static final String NEXT = "nextRuns";
  private static final DateTimeFormatter LOCAL =
      DateTimeFormatter.ofPattern("EEE uuuu-MM-dd HH:mm:ss xxx", Locale.ENGLISH);

  private ScheduleView() {}

  static void show(Console console, JsonNode response) {
    if (response instanceof ObjectNode schedule) {
      simplify(schedule);
    }
    new Table(console).object(response);
    if (response.path(NEXT).isArray() && response.path(NEXT).isEmpty()) {
      console.out().println();
      console.out().println("no next runs");
    }
  }

  private static void simplify(ObjectNode schedule) {
    if (schedule.path(NEXT).isArray()) {
      schedule.set(NEXT, times(schedule.path(NEXT)));
    }
    if (schedule.path("lastRun").isObject()) {
      schedule.put("lastRun", run(schedule.path("lastRun")));
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
   * Adds the day of the week and removes the zone, which is the same in each line. Uses the offset
   * from the server, because local time zone data may be outdated.
   */
  private static String local(String text) {
    int zone = text.indexOf('[');
    try {
      return OffsetDateTime.parse(zone < 0 ? text : text.substring(0, zone)).format(LOCAL);
    } catch (DateTimeParseException e) {
      return text;
    }
  }

  private static String run(JsonNode run) {
    String what =
        run.path("outcome").asString("").equals("skipped")
            ? "skipped: " + run.path("reason").asString("-")
            : run.path("status").asString("-") + ", task " + run.path("taskId").asString("-");
    return run.path("at").asString("-") + " " + what;
  }

  /** Omits reasons without skipped runs. */
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
