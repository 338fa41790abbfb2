package carillon.app.cli;

import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Shows when a schedule fires: in its own time, in UTC, and what is special about it. */
final class NextRuns {

  private static final String FIELD = "nextRuns";
  private static final DateTimeFormatter LOCAL =
      DateTimeFormatter.ofPattern("EEE uuuu-MM-dd HH:mm:ss xxx", Locale.ENGLISH);

  private final Console console;

  NextRuns(Console console) {
    this.console = console;
  }

  /** A schedule, or a preview of one, with its next times below. */
  void schedule(JsonNode answer) {
    if (answer instanceof ObjectNode schedule && answer.path(FIELD).isArray()) {
      schedule.set(FIELD, readable(answer.path(FIELD)));
    }
    new Table(console).object(answer);
    if (answer.path(FIELD).isArray() && answer.path(FIELD).isEmpty()) {
      console.out().println();
      console.out().println("no next runs");
    }
  }

  private static ArrayNode readable(JsonNode runs) {
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
  static String local(String text) {
    int zone = text.indexOf('[');
    try {
      return OffsetDateTime.parse(zone < 0 ? text : text.substring(0, zone)).format(LOCAL);
    } catch (DateTimeParseException e) {
      return text;
    }
  }
}
