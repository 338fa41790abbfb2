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
 * Reads the fields of one JSON object and collects their errors. A field that was not read when
 * {@link #done} is called is unknown. A field that is null counts as absent, except raw fields.
 */
public final class Fields {

  public static final Pattern TYPE_NAME = Pattern.compile("[A-Za-z0-9_.-]{1,100}");

  public static final String EMPTY = "must not be empty; omit it instead";

  public static final String UNPAIRED_SURROGATE = "has an unpaired surrogate";

  private final Map<String, JsonValue> values;
  private final String pointer;
  private final ValidationErrors errors;
  private final List<String> known = new ArrayList<>(); // few, and faster than a set

  public Fields(JsonValue.Members object, String pointer, ValidationErrors errors) {
    this.values = object.fields();
    this.pointer = pointer;
    this.errors = errors;
  }

  public static Fields of(JsonValue.Members object) {
    return new Fields(object, "", new ValidationErrors());
  }

  public ValidationErrors errors() {
    return errors;
  }

  /** Whether the field is present and not null. */
  public boolean has(String name) {
    known.add(name);
    JsonValue value = values.get(name);
    return value != null && !(value instanceof JsonValue.Null);
  }

  /** Whether the field is present and null, where that differs from omitting it. */
  public boolean isNull(String name) {
    known.add(name);
    return values.get(name) instanceof JsonValue.Null;
  }

  /** For fields that are an object or another value. */
  public boolean isObject(String name) {
    return values.get(name) instanceof JsonValue.Members;
  }

  public void wrong(String name, ErrorCode code, String message) {
    errors.add(at(name), code, message);
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
      wrong(
          name,
          ErrorCode.TOO_LONG,
          "must have at most " + max + " characters, has " + value.length());
      return null;
    }
    if (value.chars().anyMatch(Character::isISOControl)) {
      wrong(name, ErrorCode.INVALID_VALUE, "must not have control characters");
      return null;
    }
    return value;
  }

  /** A string of any length. */
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
      wrong(name, ErrorCode.INVALID_VALUE, UNPAIRED_SURROGATE);
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

  /** Reads a whole number, with a code of its own for one that is too large. */
  public @Nullable Integer integer(String name, int min, int max, ErrorCode tooLarge) {
    JsonValue value = value(name);
    if (value == null) {
      return null;
    }
    if (!(value instanceof JsonValue.Numeral(String digits))) {
      wrongKind(name, value, "a whole number");
      return null;
    }
    // More digits than any number in range.
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
      wrong(name, ErrorCode.INVALID_TIME, Times.message(ErrorCode.INVALID_TIME));
      return null;
    }
    Times.Reading reading = Times.parse(text);
    if (reading.error() != null) {
      wrong(name, reading.error(), reading.message());
    }
    return reading.time();
  }

  /** A time that is not after the horizon. */
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

  /** Reads one of an enum's values, whose names in the API differ from those in the code. */
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
    return new Fields(members, at(name), errors);
  }

  /** The text of the field as the client wrote it; null only if the field is absent. */
  public @Nullable String raw(String name) {
    known.add(name);
    return values.get(name) instanceof JsonValue.Raw(String json) ? json : null;
  }

  /** The items of an array of objects; empty if the field is absent. */
  public List<Fields> objects(String name, int max) {
    List<Fields> objects = new ArrayList<>();
    List<JsonValue> items = items(name, max);
    for (int i = 0; i < items.size(); i++) {
      String here = at(name) + "/" + i;
      if (items.get(i) instanceof JsonValue.Members object) {
        objects.add(new Fields(object, here, errors));
      } else {
        errors.add(here, ErrorCode.INVALID_TYPE, "must be an object");
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
        errors.add(here, ErrorCode.INVALID_TYPE, "must be a string");
      } else if (!isWellFormed(text)) {
        errors.add(here, ErrorCode.INVALID_VALUE, UNPAIRED_SURROGATE);
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
              ids::add, () -> errors.add(here, ErrorCode.INVALID_ID, "is not a task ID"));
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
          name,
          ErrorCode.TOO_LONG,
          "must have at most " + maxPairs + " pairs, has " + object.values.size());
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
            "the name must have 1 to " + maxName + " characters and no control characters");
      } else if (value != null && value.length() > maxValue) {
        object.wrong(
            key, ErrorCode.TOO_LONG, "the value must have at most " + maxValue + " characters");
      } else if (value != null) {
        pairs.put(key, value);
      } else if (!object.has(key)) {
        object.wrong(key, ErrorCode.INVALID_TYPE, "must be a string");
      }
    }
    return pairs;
  }

  /** Adds an error if the field is absent. */
  public <T> @Nullable T required(String name, @Nullable T value) {
    if (!has(name)) {
      wrong(name, ErrorCode.REQUIRED_FIELD, "is required");
    }
    return value;
  }

  /** For partial updates, where an omitted field stays unchanged and null has no meaning. */
  public void notNull(String name) {
    known.add(name);
    if (values.get(name) instanceof JsonValue.Null) {
      wrong(name, ErrorCode.INVALID_TYPE, "must not be null; omit it to keep its value");
    }
  }

  /** Adds an error if the field is an empty text, array or object. */
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

  /** Adds an error for each field that was not read. Must be called after all others were. */
  public void done(Set<String> readOnly) {
    for (String name : values.keySet()) {
      if (known.contains(name)) {
        continue;
      }
      if (readOnly.contains(name)) {
        wrong(name, ErrorCode.READ_ONLY_FIELD, "is read-only: only the server sets it");
      } else {
        wrong(name, ErrorCode.UNKNOWN_FIELD, "unknown field" + Suggestion.hint(name, known));
      }
    }
  }

  public void done() {
    done(Set.of());
  }

  /** Adds an error for each unknown field; {@link #requireUnchanged} checks the read-only ones. */
  public void doneExcept(Set<String> readOnly) {
    known.addAll(readOnly);
    done();
  }

  /** Whether one of the fields is present. */
  public boolean hasAny(Set<String> names) {
    return values.keySet().stream().anyMatch(names::contains);
  }

  /**
   * Adds an error for each read-only field whose value differs from the current one. So a client
   * can send back what it has read, and no change is silently ignored.
   *
   * @param now all fields of the stored resource; null if there is none yet
   */
  public void requireUnchanged(Set<String> readOnly, @Nullable JsonNode now) {
    for (String name : readOnly) {
      JsonValue value = values.get(name);
      JsonNode present = now == null ? null : now.get(name);
      if (value == null) {
        continue;
      }
      if (present == null) {
        wrong(name, ErrorCode.READ_ONLY_FIELD, "is read-only: only the server sets it");
      } else if (!isSame(value, present)) {
        wrong(name, ErrorCode.INVALID_VALUE, "is read-only; omit it, or send its current value");
      }
    }
  }

  private static boolean isSame(JsonValue value, JsonNode node) {
    return switch (value) {
      case JsonValue.Text(String text) -> node.isString() && text.equals(node.stringValue());
      case JsonValue.Numeral(String digits) -> node.isNumber() && digits.equals(node.toString());
      case JsonValue.Bool(boolean is) -> node.isBoolean() && is == node.booleanValue();
      case JsonValue.Null() -> node.isNull();
      case JsonValue.Array _, JsonValue.Members _, JsonValue.Raw _ ->
          false; // no read-only field has these
    };
  }

  /** The items of an array of any values; empty if the field is absent. */
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
      wrong(name, ErrorCode.TOO_LONG, "must have at most " + max + " items, has " + items.size());
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
    wrong(name, ErrorCode.INVALID_TYPE, "must be " + expected + ", not " + value.kind());
  }

  /** An unpaired surrogate cannot be encoded as UTF-8. */
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
