package carillon.cli.schedules;

import carillon.model.schedule.CatchUp;
import carillon.model.schedule.OverlapRule;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/** A field of a schedule, with its API name and the shape of its value. */
enum ScheduleField {
  TYPE("type", Shape.TEXT),
  CRON("cron", Shape.TEXT),
  EVERY("every", Shape.DURATION),
  TIMEZONE("timezone", Shape.TEXT, "UTC"),
  DST("dst", Shape.OBJECT),
  START_AT("startAt", Shape.TIME),
  END_AT("endAt", Shape.TIME),
  MAX_RUNS("maxRuns", Shape.NUMBER),
  OVERLAP("overlap", Shape.TEXT, OverlapRule.SKIP.label()),
  CATCH_UP("catchUp", Shape.TEXT, "last"),
  CATCH_UP_LIMIT("catchUpLimit", Shape.NUMBER, "" + CatchUp.DEFAULT.limit()),
  CATCH_UP_WINDOW("catchUpWindow", Shape.DURATION, CatchUp.DEFAULT.window().toString()),
  JITTER("jitter", Shape.DURATION, "PT0S"),
  PAUSE_AFTER_FAILURES("pauseAfterFailures", Shape.NUMBER),
  PAUSED("paused", Shape.FLAG),
  KEY("key", Shape.TEXT),
  PRIORITY("priority", Shape.NUMBER),
  PAYLOAD("payload", Shape.ANY),
  TARGET("target", Shape.OBJECT),
  RETRY("retry", Shape.OBJECT);

  /** The JSON type of a value, checked before its meaning. */
  enum Shape {
    TEXT("text; put it in quotes"),
    DURATION("a duration such as 90s"),
    TIME("a time such as 2027-03-28T09:00:00Z"),
    NUMBER("a whole number"),
    FLAG("true or false"),
    OBJECT("a list of \"field: value\" lines"),
    ANY("anything");

    private final String rule;

    Shape(String rule) {
      this.rule = rule;
    }

    String rule() {
      return rule;
    }

    boolean fits(JsonNode value) {
      return switch (this) {
        case TEXT, DURATION, TIME -> value.isString();
        case NUMBER -> value.isIntegralNumber();
        case FLAG -> value.isBoolean();
        case OBJECT -> value.isObject();
        case ANY -> true;
      };
    }
  }

  private final String label;
  private final Shape shape;
  private final @Nullable String defaultText;

  ScheduleField(String label, Shape shape) {
    this(label, shape, null);
  }

  ScheduleField(String label, Shape shape, @Nullable String defaultText) {
    this.label = label;
    this.shape = shape;
    this.defaultText = defaultText;
  }

  /** The name in the API. */
  String label() {
    return label;
  }

  Shape shape() {
    return shape;
  }

  /** The value that the server uses if the field is omitted. */
  JsonNode defaultValue() {
    if (defaultText == null) {
      return JsonNodeFactory.instance.nullNode();
    }
    return shape == Shape.NUMBER
        ? JsonNodeFactory.instance.numberNode(Integer.parseInt(defaultText))
        : JsonNodeFactory.instance.stringNode(defaultText);
  }

  static Optional<ScheduleField> labelled(String label) {
    return Arrays.stream(values()).filter(field -> field.label.equals(label)).findFirst();
  }

  static List<String> labels() {
    return Arrays.stream(values()).map(ScheduleField::label).toList();
  }
}
