package carillon.chaos.history;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Named values of an event or a row. Accessors name the field that is missing. */
public final class Fields {

  static final JsonMapper JSON = JsonMapper.builder().build();

  private final ObjectNode values;

  private Fields(ObjectNode values) {
    this.values = values;
  }

  public static Fields none() {
    return new Fields(JSON.createObjectNode());
  }

  public static Fields of(String name, @Nullable Object value) {
    return none().and(name, value);
  }

  static Fields read(String json) {
    return new Fields((ObjectNode) JSON.readTree(json));
  }

  /**
   * Adds a field, or replaces its value. The value may be text, a number, a boolean, an instant
   * (stored as microseconds), fields, or a list of these. Null removes the field.
   */
  public Fields and(String name, @Nullable Object value) {
    ObjectNode more = values.deepCopy();
    if (value == null) {
      more.remove(name);
    } else {
      more.set(name, node(value));
    }
    return new Fields(more);
  }

  public Fields and(Fields others) {
    ObjectNode more = values.deepCopy();
    more.setAll(others.values);
    return new Fields(more);
  }

  public Fields withoutNulls() {
    ObjectNode kept = values.deepCopy();
    kept.removeIf(JsonNode::isNull);
    return new Fields(kept);
  }

  private static JsonNode node(Object value) {
    return switch (value) {
      case Fields fields -> fields.values;
      case Instant instant -> JSON.getNodeFactory().numberNode(micros(instant));
      case Collection<?> many -> {
        ArrayNode array = JSON.createArrayNode();
        many.forEach(element -> array.add(node(element)));
        yield array;
      }
      default -> JSON.valueToTree(value);
    };
  }

  public boolean has(String name) {
    return values.hasNonNull(name);
  }

  public @Nullable String text(String name) {
    return has(name) ? values.get(name).asString() : null;
  }

  public String need(String name) {
    String text = text(name);
    if (text == null) {
      throw new IllegalStateException("no " + name + " in " + this);
    }
    return text;
  }

  public long number(String name) {
    return Long.parseLong(need(name));
  }

  public long number(String name, long fallback) {
    return has(name) ? number(name) : fallback;
  }

  public boolean is(String name) {
    return has(name) && values.get(name).asBoolean();
  }

  /**
   * Returns an instant in microseconds since 1970, or null if the field is missing. The field is a
   * number of microseconds, or text with an offset as PostgreSQL writes it into JSON.
   */
  public @Nullable Long micros(String name) {
    if (!has(name)) {
      return null;
    }
    JsonNode value = values.get(name);
    if (value.isNumber()) {
      return value.asLong();
    }
    return switch (value.asString()) {
      case "infinity" -> Long.MAX_VALUE;
      case "-infinity" -> Long.MIN_VALUE;
      default -> micros(instant(value.asString()));
    };
  }

  private static Instant instant(String text) {
    try {
      return OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeException e) {
      throw new IllegalStateException("not a time: " + text, e);
    }
  }

  private static long micros(Instant instant) {
    return ChronoUnit.MICROS.between(Instant.EPOCH, instant);
  }

  public List<Fields> list(String name) {
    List<Fields> all = new ArrayList<>();
    if (has(name)) {
      values.get(name).forEach(element -> all.add(new Fields((ObjectNode) element)));
    }
    return all;
  }

  /** Whether the text occurs anywhere in the values. */
  public boolean mentions(String text) {
    return toString().contains(text);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Fields fields && fields.values.equals(values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  /** JSON on one line. */
  @Override
  public String toString() {
    return values.toString();
  }
}
