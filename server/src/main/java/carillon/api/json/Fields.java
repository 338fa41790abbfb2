package carillon.api.json;

import carillon.api.error.ErrorCode;
import carillon.api.error.ValidationErrors;
import carillon.model.Durations;
import carillon.model.Suggestion;
import carillon.model.TaskId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Takes the fields of one JSON object one by one and notes what is wrong with each. What was never
 * asked for when {@link #done} is called is unknown. A field that is null counts as absent, except
 * the ones that are kept raw.
 */
public final class Fields {

  public static final Pattern TYPE_NAME = Pattern.compile("[A-Za-z0-9_.-]{1,100}");

  public static final String EMPTY = "must not be empty; leave it out if it does not matter";

  public static final String HALF_A_PAIR = "has half of a surrogate pair";

  private final Map<String, JsonValue> values;
  private final String pointer;
  private final ValidationErrors mistakes;
  private final List<String> known = new ArrayList<>(); // few, and quicker than a set

  public Fields(JsonValue.Members object, String pointer, ValidationErrors mistakes) {
    this.values = object.fields();
    this.pointer = pointer;
    this.mistakes = mistakes;
  }

  public static Fields of(JsonValue.Members object) {
    return new Fields(object, "", new ValidationErrors());
  }

  public ValidationErrors mistakes() {
    return mistakes;
  }

  /** Whether the field is there and not null. */
  public boolean has(String name) {
    known.add(name);
    JsonValue value = values.get(name);
    return value != null && !(value instanceof JsonValue.Null);
  }

  /** Whether the field is there and null, where that says something else than leaving it out. */
  public boolean isNull(String name) {
    known.add(name);
    return values.get(name) instanceof JsonValue.Null;
  }

  /** For fields that may be written in two ways. */
  public boolean isObject(String name) {
    return values.get(name) instanceof JsonValue.Members;
  }

  public void wrong(String name, ErrorCode code, String message) {
    mistakes.add(at(name), code, message);
  }

  public String at(String name) {
    return pointer + "/" + Pointer.escape(name);
  }

  public @Nullable String text(String name, int max) {
    String value = string(name);
    if (value == null) {
      return null;
    }
    if (value.length() > max) {
      wrong(name, ErrorCode.TOO_LONG, "may have " + max + " characters, has " + value.length());
      return null;
    }
    if (value.chars().anyMatch(Character::isISOControl)) {
      wrong(name, ErrorCode.INVALID_VALUE, "must not have control characters");
      return null;
    }
    return value;
  }

  /** As it is, whatever its length. */
  public @Nullable String string(String name) {
    JsonValue value = value(name);
    if (value == null) {
      return null;
    }
    if (!(value instanceof JsonValue.Text(String text))) {
      wrongKind(name, value, "a string");
      return null;
    }
    if (!isWellFormed(text)) {
      wrong(name, ErrorCode.INVALID_VALUE, HALF_A_PAIR);
      return null;
    }
    return text;
  }

  public @Nullable String typeName(String name) {
    String value = string(name);
    if (value != null && !TYPE_NAME.matcher(value).matches()) {
      wrong(name, ErrorCode.INVALID_VALUE, "must match " + TYPE_NAME);
      return null;
    }
    return value;
  }

  public @Nullable Integer integer(String name, int min, int max) {
    return integer(name, min, max, ErrorCode.OUT_OF_RANGE);
  }

  /** The same, with another code for what is too large. */
  public @Nullable Integer integer(String name, int min, int max, ErrorCode tooLarge) {
    JsonValue value = value(name);
    if (value == null) {
      return null;
    }
    if (!(value instanceof JsonValue.Numeral(String digits))) {
      wrongKind(name, value, "a whole number");
      return null;
    }
    // Longer than any number in range, and so not worth parsing.
    boolean whole = digits.matches("-?[0-9]{1,18}");
    long number = whole ? Long.parseLong(digits) : Long.MAX_VALUE;
    if (number < min || number > max) {
      ErrorCode code = digits.matches("0*[1-9][0-9]*") ? tooLarge : ErrorCode.OUT_OF_RANGE;
      wrong(name, code, "must be a whole number from " + min + " to " + max);
      return null;
    }
    return (int) number;
  }

  public @Nullable Boolean bool(String name) {
    JsonValue value = value(name);
    if (value == null) {
      return null;
    }
    if (!(value instanceof JsonValue.Bool(boolean bool))) {
      wrongKind(name, value, "true or false");
      return null;
    }
    return bool;
  }

  public @Nullable Duration duration(String name, Duration min, Duration max) {
    String text = string(name);
    if (text == null) {
      return null;
    }
    Duration duration = Durations.parse(text).orElse(null);
    if (duration == null) {
      wrong(name, ErrorCode.INVALID_DURATION, "must be " + Durations.RULE);
      return null;
    }
    if (duration.compareTo(min) < 0 || duration.compareTo(max) > 0) {
      wrong(name, ErrorCode.OUT_OF_RANGE, "must be from " + min + " to " + max);
      return null;
    }
    return duration;
  }

  public @Nullable Instant time(String name) {
    JsonValue value = value(name);
    if (value == null) {
      return null;
    }
    if (!(value instanceof JsonValue.Text(String text))) {
      wrong(name, ErrorCode.INVALID_TIME, ErrorCode.INVALID_TIME.meaning());
      return null;
    }
    Times.Reading reading = Times.parse(text);
    if (reading.error() != null) {
      wrong(name, reading.error(), reading.error().meaning());
    }
    return reading.time();
  }

  /** A time that is not further away than the horizon. */
  public @Nullable Instant timeBefore(String name, Instant horizon) {
    Instant time = time(name);
    if (time != null && time.isAfter(horizon)) {
      wrong(name, ErrorCode.BEYOND_HORIZON, "must not be after " + Times.format(horizon));
      return null;
    }
    return time;
  }

  public <E extends Enum<E>> @Nullable E choice(String name, Class<E> type) {
    return choice(name, type, each -> each.name().toLowerCase(Locale.ROOT));
  }

  /** The same where its values are called otherwise outside. */
  public <E extends Enum<E>> @Nullable E choice(
      String name, Class<E> type, Function<E, String> label) {
    String text = string(name);
    if (text == null) {
      return null;
    }
    List<String> allowed = new ArrayList<>();
    for (E each : type.getEnumConstants()) {
      if (label.apply(each).equals(text)) {
        return each;
      }
      allowed.add(label.apply(each));
    }
    wrong(name, ErrorCode.INVALID_VALUE, "must be one of " + String.join(", ", allowed));
    return null;
  }

  public @Nullable Fields object(String name) {
    JsonValue value = value(name);
    if (value == null) {
      return null;
    }
    if (!(value instanceof JsonValue.Members members)) {
      wrongKind(name, value, "an object");
      return null;
    }
    return new Fields(members, at(name), mistakes);
  }

  /** The text of the field as the client wrote it; null only if the field is not there at all. */
  public @Nullable String raw(String name) {
    known.add(name);
    return values.get(name) instanceof JsonValue.Raw(String json) ? json : null;
  }

  /** Each item of an array of objects; empty if the field is missing, which is a mistake. */
  public List<Fields> objects(String name, int max) {
    List<Fields> objects = new ArrayList<>();
    List<JsonValue> items = items(name, max);
    for (int i = 0; i < items.size(); i++) {
      String here = at(name) + "/" + i;
      if (items.get(i) instanceof JsonValue.Members object) {
        objects.add(new Fields(object, here, mistakes));
      } else {
        mistakes.add(here, ErrorCode.INVALID_TYPE, "must be an object");
      }
    }
    return objects;
  }

  public List<String> strings(String name, int max) {
    List<String> strings = new ArrayList<>();
    List<JsonValue> items = items(name, max);
    for (int i = 0; i < items.size(); i++) {
      String here = at(name) + "/" + i;
      if (!(items.get(i) instanceof JsonValue.Text(String text))) {
        mistakes.add(here, ErrorCode.INVALID_TYPE, "must be a string");
      } else if (!isWellFormed(text)) {
        mistakes.add(here, ErrorCode.INVALID_VALUE, HALF_A_PAIR);
      } else {
        strings.add(text);
      }
    }
    return strings;
  }

  public List<TaskId> ids(String name, int max) {
    List<TaskId> ids = new ArrayList<>();
    List<String> texts = strings(name, max);
    for (int i = 0; i < texts.size(); i++) {
      String here = at(name) + "/" + i;
      TaskId.parse(texts.get(i))
          .ifPresentOrElse(
              ids::add, () -> mistakes.add(here, ErrorCode.INVALID_ID, "is not a task id"));
    }
    return ids;
  }

  public Map<String, String> pairs(String name, int maxPairs, int maxName, int maxValue) {
    Fields object = object(name);
    Map<String, String> pairs = new LinkedHashMap<>();
    if (object == null) {
      return pairs;
    }
    if (object.values.size() > maxPairs) {
      wrong(
          name, ErrorCode.TOO_LONG, "may have " + maxPairs + " pairs, has " + object.values.size());
      return pairs;
    }
    for (String key : object.values.keySet()) {
      String value = object.string(key);
      if (key.isEmpty()
          || key.length() > maxName
          || !isWellFormed(key)
          || key.chars().anyMatch(Character::isISOControl)) {
        object.wrong(
            key,
            ErrorCode.TOO_LONG,
            "names have 1 to " + maxName + " characters and no control characters");
      } else if (value != null && value.length() > maxValue) {
        object.wrong(key, ErrorCode.TOO_LONG, "values may have " + maxValue + " characters");
      } else if (value != null) {
        pairs.put(key, value);
      } else if (!object.has(key)) {
        object.wrong(key, ErrorCode.INVALID_TYPE, "must be a string");
      }
    }
    return pairs;
  }

  /** Notes a field that is missing. */
  public <T> @Nullable T required(String name, @Nullable T value) {
    if (!has(name)) {
      wrong(name, ErrorCode.REQUIRED_FIELD, "is required");
    }
    return value;
  }

  /** For changes, where a field that is left out stays as it is and null has no meaning. */
  public void notNull(String name) {
    known.add(name);
    if (values.get(name) instanceof JsonValue.Null) {
      wrong(name, ErrorCode.INVALID_TYPE, "must not be null; leave it out to keep it");
    }
  }

  /** Notes a text, array or object that is there and has nothing in it. */
  public void notEmpty(String name) {
    boolean isEmpty =
        switch (values.get(name)) {
          case JsonValue.Text(String text) -> text.isEmpty();
          case JsonValue.Array(List<JsonValue> items) -> items.isEmpty();
          case JsonValue.Members(Map<String, JsonValue> fields) -> fields.isEmpty();
          case null, default -> false;
        };
    if (isEmpty) {
      wrong(name, ErrorCode.INVALID_VALUE, EMPTY);
    }
  }

  public void exclusive(String one, String other) {
    if (has(one) && has(other)) {
      wrong(other, ErrorCode.EXCLUSIVE_FIELDS, "cannot be set together with " + one);
    }
  }

  /** Notes what was not asked for. To be called after all other fields were taken. */
  public void done(Set<String> readOnly) {
    for (String name : values.keySet()) {
      if (known.contains(name)) {
        continue;
      }
      if (readOnly.contains(name)) {
        wrong(name, ErrorCode.READ_ONLY_FIELD, "is set by the server only");
      } else {
        wrong(name, ErrorCode.UNKNOWN_FIELD, "unknown field" + Suggestion.hint(name, known));
      }
    }
  }

  public void done() {
    done(Set.of());
  }

  /** The same where {@link #mustStay} looks at these. */
  public void doneExcept(Set<String> readOnly) {
    known.addAll(readOnly);
    done();
  }

  /** Whether one of these is there. */
  public boolean hasAny(Set<String> names) {
    return values.keySet().stream().anyMatch(names::contains);
  }

  /**
   * Notes which fields that only the server sets are not as they are now: what was read can be sent
   * back, and no change is ignored.
   *
   * @param now all fields of what is being replaced; null if there is nothing yet
   */
  public void mustStay(Set<String> readOnly, @Nullable JsonNode now) {
    for (String name : readOnly) {
      JsonValue value = values.get(name);
      JsonNode present = now == null ? null : now.get(name);
      if (value == null) {
        continue;
      }
      if (present == null) {
        wrong(name, ErrorCode.READ_ONLY_FIELD, "is set by the server only");
      } else if (!isSame(value, present)) {
        wrong(
            name,
            ErrorCode.INVALID_VALUE,
            "is set by the server only; leave it out, or send what it is now");
      }
    }
  }

  private static boolean isSame(JsonValue value, JsonNode node) {
    return switch (value) {
      case JsonValue.Text(String text) -> node.isString() && text.equals(node.stringValue());
      case JsonValue.Numeral(String digits) -> node.isNumber() && digits.equals(node.toString());
      case JsonValue.Bool(boolean is) -> node.isBoolean() && is == node.booleanValue();
      case JsonValue.Null() -> node.isNull();
      case JsonValue.Array _, JsonValue.Members _, JsonValue.Raw _ -> false; // there are none
    };
  }

  /** The items of an array, whatever they are; empty if the field is missing. */
  public List<JsonValue> items(String name, int max) {
    JsonValue value = value(name);
    if (value == null) {
      return List.of();
    }
    if (!(value instanceof JsonValue.Array(List<JsonValue> items))) {
      wrongKind(name, value, "an array");
      return List.of();
    }
    if (items.size() > max) {
      wrong(name, ErrorCode.TOO_LONG, "may have " + max + " items, has " + items.size());
      return List.of();
    }
    return items;
  }

  private @Nullable JsonValue value(String name) {
    known.add(name);
    JsonValue value = values.get(name);
    return value instanceof JsonValue.Null ? null : value;
  }

  private void wrongKind(String name, JsonValue value, String expected) {
    wrong(name, ErrorCode.INVALID_TYPE, "must be " + expected + ", is " + value.kind());
  }

  /** Half a surrogate pair cannot be written as UTF-8. */
  public static boolean isWellFormed(String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (Character.isHighSurrogate(c)
          && i + 1 < text.length()
          && Character.isLowSurrogate(text.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c)) {
        return false;
      }
    }
    return true;
  }
}
