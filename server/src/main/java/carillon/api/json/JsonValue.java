package carillon.api.json;

import java.util.List;
import java.util.Map;

/** A value of a request's JSON, with the text that the client wrote. */
public sealed interface JsonValue {

  record Text(String value) implements JsonValue {}

  /** A number as it was written. */
  record Numeral(String digits) implements JsonValue {}

  record Bool(boolean value) implements JsonValue {
    static final Bool TRUE = new Bool(true);
    static final Bool FALSE = new Bool(false);
  }

  record Null() implements JsonValue {
    static final Null NULL = new Null();
  }

  record Array(List<JsonValue> items) implements JsonValue {}

  record Members(Map<String, JsonValue> fields) implements JsonValue {}

  /** Kept byte for byte, without reading it. */
  record Raw(String json) implements JsonValue {}

  default String kind() {
    return switch (this) {
      case Text _ -> "a string";
      case Numeral _ -> "a number";
      case Bool _ -> "true or false";
      case Null _ -> "null";
      case Array _ -> "an array";
      case Members _ -> "an object";
      case Raw _ -> "JSON";
    };
  }
}
