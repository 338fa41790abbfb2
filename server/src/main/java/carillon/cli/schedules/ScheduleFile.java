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
 * Reads schedules from YAML and rejects the file at the first error.
 *
 * <p>Reads token by token, so that each error has its line and an alias is detected; a tree would
 * contain the name of the alias as text.
 */
final class ScheduleFile {

  static final int MAX_BYTES = 2 << 20;

  private static final int MAX_DEPTH = 100;
  private static final String SCHEDULES = "schedules";
  private static final String NAME = "name";
  private static final YAMLMapper YAML =
      YAMLMapper.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
  private static final Pattern PLACE = Pattern.compile("(?m)^ in reader, line ([0-9]{1,9}),");
  private static final Pattern UNQUOTED = Pattern.compile(": +[*@]");

  /** Numbers in YAML, but not in JSON. */
  private static final Pattern ODD_NUMBER =
      Pattern.compile("[-+]?(0x[0-9A-Fa-f]+|0o[0-7]+|\\.(inf|Inf|INF))|\\.(nan|NaN|NAN)");

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /**
   * A schedule in the file.
   *
   * @param lines the line of each field
   * @param definition its fields without the name, in the format of the API
   */
  record Wanted(
      String file, int line, String name, Map<String, Integer> lines, ObjectNode definition) {

    /** An error in a field, or in the whole schedule. */
    CommandFailed wrong(String field, String message) {
      return new CommandFailed(
          file + ": line " + lines.getOrDefault(field, line) + ": " + name + ": " + message);
    }
  }

  private final String file;
  private final YAMLParser parser;
  private final int[] source; // locations are counted in code points
  private final List<Wanted> found = new ArrayList<>();

  private ScheduleFile(String file, YAMLParser parser, int[] source) {
    this.file = file;
    this.parser = parser;
    this.source = source;
  }

  /**
   * Reads the schedules of all documents, in order.
   *
   * @param file its name in messages
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
   * The message of the parser has several lines, some with a location. The last location is closest
   * to the error; without one, the last token is used.
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
    String hint =
        UNQUOTED.matcher(source).find() ? "; a text that starts like this needs quotes" : "";
    return new CommandFailed(file + ": line " + line + ": is not YAML: " + why + hint);
  }

  private void document(JsonToken token) {
    if (token == JsonToken.VALUE_NULL) {
      return; // an empty document between two separators
    }
    if (token != JsonToken.START_OBJECT) {
      throw wrong("must start with \"schedules:\", followed by a list");
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
      return; // like a missing field, as in the API
    }
    if (!field.shape().fits(value)) {
      throw wrong(line, label + " must be " + field.shape().rule());
    }
    definition.set(label, value);
  }

  private JsonNode value(JsonToken token, int depth) {
    if (depth >= MAX_DEPTH) {
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
      default -> throw wrong("has a value that JSON does not support");
    };
  }

  /** The parser reads more values as text than YAML does. */
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
        quoted(text) + " is not a decimal number; if it is meant as text, it needs quotes");
  }

  /** Whether the text is a plain scalar, neither quoted nor a block. */
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
      throw wrong("ends unexpectedly");
    }
    return token;
  }

  private @Nullable JsonToken next() {
    JsonToken token = parser.nextToken();
    if (parser.isCurrentAlias() || parser.getObjectId() != null) {
      throw wrong("anchors and aliases (&, *) are not supported; a text with a * needs quotes");
    }
    if (parser.getTypeId() != null) {
      throw wrong("tags (!) are not supported; a text with a ! needs quotes");
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
