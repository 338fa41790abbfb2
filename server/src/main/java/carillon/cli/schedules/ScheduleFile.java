package carillon.cli.schedules;

import carillon.cli.CommandFailed;
import carillon.model.Suggestion;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonToken;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;
import tools.jackson.dataformat.yaml.YAMLParser;

/**
 * Reads schedules from YAML, and refuses all of it at the first mistake.
 *
 * <p>Token by token, for two reasons: each mistake has its line, and an alias is seen as one. A
 * tree would have its name as text where the value was meant.
 */
final class ScheduleFile {

  static final int MOST_BYTES = 2 << 20;

  private static final int DEEPEST = 100;
  private static final String SCHEDULES = "schedules";
  private static final String NAME = "name";
  private static final YAMLMapper YAML =
      YAMLMapper.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
  private static final Pattern PLACE = Pattern.compile("(?m)^ in reader, line ([0-9]{1,9}),");
  private static final Pattern UNQUOTED = Pattern.compile(": +[*@]");

  /** What YAML takes for numbers, and JSON does not. */
  private static final Pattern ODD_NUMBER =
      Pattern.compile("[-+]?(0x[0-9A-Fa-f]+|0o[0-7]+|\\.(inf|Inf|INF))|\\.(nan|NaN|NAN)");

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /**
   * A schedule as the file wants it.
   *
   * @param lines where each of its fields stands
   * @param definition its fields but the name, as the API takes them
   */
  record Wanted(
      String file, int line, String name, Map<String, Integer> lines, ObjectNode definition) {

    /** A mistake in a field of it, or in all of it. */
    CommandFailed wrong(String field, String message) {
      return new CommandFailed(
          file + ": line " + lines.getOrDefault(field, line) + ": " + name + ": " + message);
    }
  }

  private final String file;
  private final YAMLParser parser;
  private final int[] source; // places are counted in code points
  private final List<Wanted> found = new ArrayList<>();

  private ScheduleFile(String file, YAMLParser parser, int[] source) {
    this.file = file;
    this.parser = parser;
    this.source = source;
  }

  /**
   * All schedules of all documents, in their order.
   *
   * @param file what to call it in messages
   */
  static List<Wanted> read(String file, String text) {
    try (YAMLParser parser = (YAMLParser) YAML.createParser(text)) {
      ScheduleFile reader = new ScheduleFile(file, parser, text.codePoints().toArray());
      for (JsonToken token = reader.next(); token != null; token = reader.next()) {
        reader.document(token);
      }
      return reader.found;
    } catch (JacksonException e) {
      throw notYaml(file, text, e);
    }
  }

  /**
   * The parser explains itself in many lines, some with a place: the last of those is where it gave
   * up, which is nearer to the mistake than its last token. Elsewhere that has to do.
   */
  private static CommandFailed notYaml(String file, String text, JacksonException e) {
    int line = e.getLocation().getLineNr();
    Matcher place = PLACE.matcher(e.getOriginalMessage());
    while (place.find()) {
      line = Integer.parseInt(place.group(1));
    }
    String why =
        e.getOriginalMessage()
            .lines()
            .filter(part -> !part.startsWith(" "))
            .collect(Collectors.joining(", "));
    String source = text.lines().skip(Math.max(0, line - 1)).findFirst().orElse("");
    String hint = UNQUOTED.matcher(source).find() ? "; a text that starts so needs quotes" : "";
    return new CommandFailed(file + ": line " + line + ": is not YAML: " + why + hint);
  }

  private void document(JsonToken token) {
    if (token == JsonToken.VALUE_NULL) {
      return; // between two separators there may be nothing
    }
    if (token != JsonToken.START_OBJECT) {
      throw wrong("must start with \"schedules:\" and have a list of them below");
    }
    while (required() == JsonToken.PROPERTY_NAME) {
      String name = parser.currentName();
      if (!name.equals(SCHEDULES)) {
        throw wrong("unknown field " + quoted(name) + "; did you mean schedules?");
      }
      list(required());
    }
  }

  private void list(JsonToken token) {
    if (token == JsonToken.VALUE_NULL) {
      return;
    }
    if (token != JsonToken.START_ARRAY) {
      throw wrong("schedules must be a list: each starts with \"- name: \"");
    }
    for (JsonToken item = required(); item != JsonToken.END_ARRAY; item = required()) {
      if (item != JsonToken.START_OBJECT) {
        throw wrong("a schedule must be a list of \"field: value\" lines");
      }
      found.add(schedule());
    }
  }

  private Wanted schedule() {
    int line = line();
    String name = null;
    Map<String, Integer> lines = new LinkedHashMap<>();
    ObjectNode definition = NODES.objectNode();
    while (required() == JsonToken.PROPERTY_NAME) {
      String label = parser.currentName();
      lines.put(label, line());
      if (label.equals(NAME)) {
        name = name(value(required(), 0));
      } else {
        field(label, definition);
      }
    }
    if (name == null) {
      throw wrong(line, "a schedule needs a name");
    }
    return new Wanted(file, line, name, lines, definition);
  }

  private String name(JsonNode value) {
    if (!value.isString() || value.asString().isEmpty()) {
      throw wrong("name must be " + ScheduleField.Shape.TEXT.rule());
    }
    return value.asString();
  }

  private void field(String label, ObjectNode definition) {
    ScheduleField field =
        ScheduleField.labelled(label)
            .orElseThrow(
                () ->
                    wrong(
                        "unknown field "
                            + quoted(label)
                            + Suggestion.hint(label, ScheduleField.labels())));
    int line = line();
    JsonNode value = value(required(), 0);
    if (value.isNull()) {
      return; // as if it was not there, as in the API
    }
    if (!field.shape().fits(value)) {
      throw wrong(line, label + " must be " + field.shape().rule());
    }
    definition.set(label, value);
  }

  private JsonNode value(JsonToken token, int depth) {
    if (depth >= DEEPEST) {
      throw wrong("is nested too deeply");
    }
    return switch (token) {
      case START_OBJECT -> object(depth);
      case START_ARRAY -> array(depth);
      case VALUE_STRING -> text(parser.getString());
      case VALUE_NUMBER_INT -> NODES.numberNode(parser.getBigIntegerValue());
      case VALUE_NUMBER_FLOAT -> decimal(parser.getString());
      case VALUE_TRUE -> NODES.booleanNode(true);
      case VALUE_FALSE -> NODES.booleanNode(false);
      case VALUE_NULL -> NODES.nullNode();
      default -> throw wrong("has a value that JSON does not know");
    };
  }

  /** The parser takes more for text than YAML does. */
  private JsonNode text(String text) {
    if (text.equals("~") && isPlain(text)) {
      return NODES.nullNode();
    }
    if (ODD_NUMBER.matcher(text).matches() && isPlain(text)) {
      throw oddNumber(text);
    }
    return NODES.stringNode(text);
  }

  private JsonNode decimal(String text) {
    if (ODD_NUMBER.matcher(text).matches()) {
      throw oddNumber(text);
    }
    return NODES.numberNode(parser.getDecimalValue());
  }

  private CommandFailed oddNumber(String text) {
    return wrong(
        quoted(text) + " is no number in decimal digits; if it is meant as text, it needs quotes");
  }

  /** Whether it stands there as it is, not in quotes and not as a block. */
  private boolean isPlain(String text) {
    long place = parser.currentTokenLocation().getCharOffset();
    return place >= 0 && place < source.length && source[(int) place] == text.charAt(0);
  }

  private ObjectNode object(int depth) {
    ObjectNode object = NODES.objectNode();
    while (required() == JsonToken.PROPERTY_NAME) {
      String name = parser.currentName();
      object.set(name, value(required(), depth + 1));
    }
    return object;
  }

  private ArrayNode array(int depth) {
    ArrayNode array = NODES.arrayNode();
    for (JsonToken item = required(); item != JsonToken.END_ARRAY; item = required()) {
      array.add(value(item, depth + 1));
    }
    return array;
  }

  private JsonToken required() {
    JsonToken token = next();
    if (token == null) {
      throw wrong("ends too early");
    }
    return token;
  }

  private @Nullable JsonToken next() {
    JsonToken token = parser.nextToken();
    if (parser.isCurrentAlias() || parser.getObjectId() != null) {
      throw wrong("anchors and aliases (&, *) are not taken; a text with a * needs quotes");
    }
    if (parser.getTypeId() != null) {
      throw wrong("tags (!) are not taken; a text with a ! needs quotes");
    }
    return token;
  }

  private int line() {
    return parser.currentTokenLocation().getLineNr();
  }

  private CommandFailed wrong(String message) {
    return wrong(line(), message);
  }

  private CommandFailed wrong(int line, String message) {
    return new CommandFailed(file + ": line " + line + ": " + message);
  }

  private static String quoted(String text) {
    return "\"" + text + "\"";
  }
}
