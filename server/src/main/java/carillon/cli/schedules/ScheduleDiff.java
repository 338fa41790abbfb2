package carillon.cli.schedules;

import carillon.model.Durations;
import carillon.model.cron.DstRule;
import carillon.model.target.HiddenValues;
import carillon.model.target.SecretUrl;
import carillon.model.task.RetryPolicy;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Compares a schedule of a file with the one on the server. In doubt it reports a difference; the
 * server then finds none and changes nothing.
 */
final class ScheduleDiff {

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final Set<String> DURATIONS = Set.of("timeout", "maxAge", "base", "max");
  private static final String HEADERS = "headers";

  /**
   * A field with different values.
   *
   * @param path its name, with dots for nesting
   * @param from JSON null if there was none
   * @param isHidden whether the values are secret
   */
  record Difference(String path, JsonNode from, JsonNode to, boolean isHidden) {}

  private final List<Difference> differences = new ArrayList<>();
  private final List<Difference> unknown = new ArrayList<>();

  private ScheduleDiff() {}

  /** The differences, as far as the server shows its values. */
  static List<Difference> between(ObjectNode wanted, JsonNode present) {
    return compared(wanted, present).differences;
  }

  /** The fields whose values the server hides, so that only the server can compare them. */
  static List<Difference> unknown(ObjectNode wanted, JsonNode present) {
    return compared(wanted, present).unknown;
  }

  private static ScheduleDiff compared(ObjectNode wanted, JsonNode present) {
    ScheduleDiff diff = new ScheduleDiff();
    for (ScheduleField field : ScheduleField.values()) {
      boolean isKept = field == ScheduleField.PAUSED && !wanted.has(field.label());
      if (!isKept) {
        diff.compare(
            field.label(),
            normal(field, present.path(field.label())),
            normal(field, wanted.path(field.label())));
      }
    }
    return diff;
  }

  private void compare(String path, JsonNode from, JsonNode to) {
    boolean isPayload = path.equals(ScheduleField.PAYLOAD.label());
    if (!isPayload && from.isObject() && to.isObject()) {
      Set<String> names = new TreeSet<>(from.propertyNames());
      names.addAll(to.propertyNames());
      names.forEach(name -> compare(path + "." + name, from.path(name), to.path(name)));
    } else if (!isSame(from, to)) {
      boolean isHidden = path.contains("." + HEADERS + ".") || path.endsWith("." + HEADERS);
      (isHiddenByServer(path, from, to) ? unknown : differences)
          .add(new Difference(path, shown(path, from), shown(path, to), isHidden));
    }
  }

  /** Whether the server hides the value to compare with. */
  private static boolean isHiddenByServer(String path, JsonNode from, JsonNode to) {
    if (!from.isString() || !to.isString()) {
      return false;
    }
    return path.endsWith(".http.url")
        ? SecretUrl.hidden(to.asString()).equals(from.asString())
        : path.contains(".http." + HEADERS + ".") && from.asString().equals(HiddenValues.TEXT);
  }

  private static JsonNode shown(String path, JsonNode value) {
    if (value.isMissingNode()) {
      return NODES.nullNode();
    }
    return path.endsWith(".url") && value.isString()
        ? NODES.stringNode(SecretUrl.hidden(value.asString()))
        : value;
  }

  /** Compares numbers by value: the file may have more digits than the response. */
  private static boolean isSame(JsonNode from, JsonNode to) {
    if (from.isMissingNode() || to.isMissingNode()) {
      return from.isMissingNode() && to.isMissingNode();
    }
    return from.equals(ScheduleDiff::compareNumbers, to);
  }

  private static int compareNumbers(JsonNode from, JsonNode to) {
    if (from.isIntegralNumber() && to.isIntegralNumber()) {
      return from.bigIntegerValue().compareTo(to.bigIntegerValue());
    }
    if (from.isNumber() && to.isNumber()) {
      return Double.compare(from.asDouble(Double.NaN), to.asDouble(Double.NaN));
    }
    return from.equals(to) ? 0 : 1;
  }

  /** The value as the server would show it. */
  private static JsonNode normal(ScheduleField field, JsonNode value) {
    if (value.isNull() || value.isMissingNode()) {
      return field == ScheduleField.DST ? dst(NODES.objectNode()) : field.defaultValue();
    }
    return switch (field) {
      case EVERY, CATCH_UP_WINDOW, JITTER -> duration(value);
      case START_AT, END_AT -> time(value);
      case DST -> dst(value);
      case TARGET -> target(value);
      case RETRY -> retry(value);
      default -> value;
    };
  }

  private static JsonNode duration(JsonNode value) {
    return Durations.parse(value.asString(""))
        .map(Duration::toString)
        .<JsonNode>map(NODES::stringNode)
        .orElse(value);
  }

  private static JsonNode time(JsonNode value) {
    try {
      return NODES.stringNode(
          OffsetDateTime.parse(value.asString(""))
              .toInstant()
              .truncatedTo(ChronoUnit.MILLIS)
              .toString());
    } catch (DateTimeException e) {
      return value;
    }
  }

  private static JsonNode dst(JsonNode given) {
    return with(
        NODES
            .objectNode()
            .put("gap", lower(DstRule.DEFAULT.gap()))
            .put("overlap", lower(DstRule.DEFAULT.overlap())),
        given);
  }

  private static JsonNode retry(JsonNode given) {
    RetryPolicy defaults = RetryPolicy.DEFAULT;
    return with(
        NODES
            .objectNode()
            .put("maxAttempts", defaults.maxAttempts())
            .put("backoff", lower(defaults.backoff()))
            .put("base", defaults.base().toString())
            .put("max", defaults.max().toString())
            .put("jitter", lower(defaults.jitter())),
        given);
  }

  private static JsonNode target(JsonNode given) {
    if (!given.path("http").isObject()) {
      return given;
    }
    ObjectNode http = with(NODES.objectNode().put("method", "POST"), given.path("http"));
    if (http.path(HEADERS).isObject() && http.path(HEADERS).isEmpty()) {
      http.remove(HEADERS);
    }
    sort(http, "secretHeaders");
    ObjectNode target = NODES.objectNode();
    target.setAll((ObjectNode) given);
    target.set("http", http);
    return target;
  }

  /** Sorts a list whose order has no meaning and removes an empty one. */
  private static void sort(ObjectNode node, String name) {
    if (node.path(name).isArray()) {
      List<String> names =
          node.path(name).valueStream().map(each -> each.asString("")).sorted().toList();
      node.remove(name);
      if (!names.isEmpty()) {
        ArrayNode sorted = node.putArray(name);
        names.forEach(sorted::add);
      }
    }
  }

  /** Overrides defaults with given values, with durations in the format of the server. */
  private static ObjectNode with(ObjectNode defaults, JsonNode given) {
    for (var field : given.properties()) {
      JsonNode value = field.getValue();
      if (!value.isNull()) {
        defaults.set(field.getKey(), DURATIONS.contains(field.getKey()) ? duration(value) : value);
      }
    }
    return defaults;
  }

  private static String lower(Enum<?> choice) {
    return choice.name().toLowerCase(Locale.ROOT);
  }
}
