package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.json.Fields;
import carillon.api.json.Times;
import carillon.model.Echo;
import carillon.model.KeyText;
import carillon.model.Suggestion;
import carillon.model.task.TaskState;
import java.time.Instant;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The query parameters of a request. Unknown and repeated parameters are errors. */
public final class Query {

  private static final Set<String> CREDENTIALS =
      Set.of(
          "api_key",
          "apikey",
          "api-key",
          "access_token",
          "accesstoken",
          "token",
          "authorization",
          "bearer",
          "admin_key");

  /** The prefix of metadata filters; as an allowed parameter, it allows all of them. */
  public static final String METADATA = "metadata.";

  private static final Query NONE = new Query(Map.of());

  private final Map<String, String> values;

  private Query(Map<String, String> values) {
    this.values = values;
  }

  /**
   * @param raw without the question mark; empty if there is none
   */
  static Query parse(String raw) {
    if (raw.isEmpty()) {
      return NONE;
    }
    Map<String, String> values = new TreeMap<>();
    for (String pair : raw.split("&", -1)) {
      if (pair.isEmpty()) {
        continue;
      }
      int equals = pair.indexOf('=');
      String name = decode(equals < 0 ? pair : pair.substring(0, equals));
      String value = equals < 0 ? "" : decode(pair.substring(equals + 1));
      refuseCredentials(name, value);
      if (name.indexOf('\0') >= 0 || value.indexOf('\0') >= 0) {
        throw new ApiException(
            ErrorCode.INVALID_PARAMETER, "the parameter " + Echo.of(name) + " contains U+0000");
      }
      if (values.put(name, value) != null) {
        throw new ApiException(
            ErrorCode.INVALID_PARAMETER, "the parameter " + Echo.of(name) + " is given twice");
      }
    }
    return new Query(values);
  }

  private static void refuseCredentials(String name, String value) {
    if (CREDENTIALS.contains(name.toLowerCase(Locale.ROOT)) || value.startsWith(KeyText.PREFIX)) {
      // The value is not repeated: it may be a live key.
      throw new ApiException(
          ErrorCode.CREDENTIAL_IN_URL,
          "send keys in the header Authorization: Bearer <key>, never in the URL");
    }
  }

  private static String decode(String part) {
    String text = PercentText.ofQuery(part);
    if (text == null) {
      throw new ApiException(
          ErrorCode.INVALID_PARAMETER,
          "the query string has " + Echo.of(part) + ", which is not percent-encoded UTF-8");
    }
    return text;
  }

  /**
   * @param allowed names; one that ends in a dot allows all names that start with it
   */
  void refuseOthers(Set<String> allowed) {
    for (String name : values.keySet()) {
      int dot = name.indexOf('.');
      boolean known =
          allowed.contains(name) || (dot > 0 && allowed.contains(name.substring(0, dot + 1)));
      if (!known) {
        throw new ApiException(
            ErrorCode.UNSUPPORTED_FILTER,
            "unknown parameter " + Echo.of(name) + Suggestion.hint(name, allowed));
      }
    }
  }

  public @Nullable String text(String name, int max) {
    String value = values.get(name);
    if (value != null && value.length() > max) {
      throw wrong(name, ErrorCode.TOO_LONG, "must have at most " + max + " characters");
    }
    return value;
  }

  /** A text that is not empty. */
  public @Nullable String someText(String name, int max) {
    String value = text(name, max);
    if (value != null && value.isEmpty()) {
      throw wrong(name, ErrorCode.INVALID_VALUE, Fields.EMPTY);
    }
    return value;
  }

  public @Nullable String typeName(String name) {
    String value = values.get(name);
    if (value != null && !Fields.TYPE_NAME.matcher(value).matches()) {
      throw wrong(name, ErrorCode.INVALID_VALUE, "must match " + Fields.TYPE_NAME);
    }
    return value;
  }

  public @Nullable Instant time(String name) {
    String value = values.get(name);
    if (value == null) {
      return null;
    }
    Times.Reading reading = Times.parse(value);
    if (reading.error() != null) {
      throw wrong(name, reading.error(), reading.message());
    }
    return reading.time();
  }

  public @Nullable TaskState status(String name) {
    String value = values.get(name);
    if (value == null) {
      return null;
    }
    for (TaskState state : TaskState.values()) {
      if (state.name().equals(value)) {
        return state;
      }
    }
    throw wrong(
        name,
        ErrorCode.INVALID_VALUE,
        Echo.of(value)
            + " is not a status; use "
            + String.join(", ", Arrays.stream(TaskState.values()).map(TaskState::name).toList()));
  }

  /** A whole number; null if it is absent. */
  public @Nullable Integer integer(String name, int min, int max) {
    String value = values.get(name);
    if (value == null) {
      return null;
    }
    if (!value.matches("-?[0-9]{1,18}")) {
      throw wrong(name, ErrorCode.INVALID_PARAMETER, "must be a whole number");
    }
    long number = Long.parseLong(value);
    if (number < min || number > max) {
      throw wrong(name, ErrorCode.OUT_OF_RANGE, "must be from " + min + " to " + max);
    }
    return (int) number;
  }

  public int limit() {
    Integer limit = integer("limit", 1, Limits.PAGE_ITEMS);
    return limit == null ? Limits.PAGE_ITEMS_DEFAULT : limit;
  }

  @Nullable String cursor() {
    return values.get("cursor");
  }

  /** Whether the client asks for payloads. */
  public boolean viewFull() {
    String view = values.getOrDefault("view", "basic");
    return switch (view) {
      case "basic" -> false;
      case "full" -> true;
      default -> throw wrong("view", ErrorCode.INVALID_VALUE, "must be basic or full");
    };
  }

  /** The filters {@code metadata.NAME=VALUE}. */
  public Map<String, String> metadata() {
    Map<String, String> found = new TreeMap<>();
    values.forEach(
        (name, value) -> {
          if (name.startsWith(METADATA)) {
            found.put(name.substring(METADATA.length()), value);
          }
        });
    if (found.size() > Limits.METADATA_PAIRS) {
      throw new ApiException(
          ErrorCode.UNSUPPORTED_FILTER,
          "use at most " + Limits.METADATA_PAIRS + " metadata filters");
    }
    if (found.containsKey("")) {
      throw wrong(METADATA, ErrorCode.INVALID_VALUE, "needs a name after the dot");
    }
    return found;
  }

  /** The filters of a list, as a text that is the same for all its pages. */
  String filter() {
    Map<String, String> filter = new TreeMap<>(values);
    filter.keySet().removeAll(Set.of("cursor", "limit", "view", "fires"));
    return filter.toString();
  }

  public static ApiException wrong(String name, ErrorCode code, String message) {
    return new ApiException(code, "the parameter " + name + ": " + message);
  }
}
