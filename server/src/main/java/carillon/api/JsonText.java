package carillon.api;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.json.JsonFactory;

/**
 * Reads JSON as RFC 8259 has it and nothing else: no duplicate names, no comments, no NaN, bounded
 * depth. The fields named in {@link #RAW} are not turned into values but cut out of the text as
 * they stand, so that {@code 1.0} stays {@code 1.0}.
 */
final class JsonText {

  private static final Set<String> RAW = Set.of("payload", "output");

  /** The same, but only at the top: deeper, it is a name like any other. */
  private static final String RAW_AT_THE_TOP = "schema";

  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              // Depth is the only limit that can be met here: the length of the whole text is
              // bounded before.
              StreamReadConstraints.builder()
                  .maxNestingDepth(Limits.DEPTH + 2) // a batch adds two levels of its own
                  .maxStringLength(Integer.MAX_VALUE)
                  .maxNumberLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private final String text;
  private final JsonParser parser;
  private final int maxDepth;
  private final boolean mayHoldNul;
  private int depth;

  private JsonText(String text, JsonParser parser, int maxDepth) {
    this.text = text;
    this.parser = parser;
    this.maxDepth = maxDepth;
    this.mayHoldNul = text.contains("u0000");
  }

  /** Decodes strictly; what is not UTF-8 is not guessed at. */
  static String decode(byte[] bytes) {
    return decode(bytes, 0, bytes.length);
  }

  static String decode(byte[] bytes, int from, int length) {
    String text = new String(bytes, from, length, StandardCharsets.UTF_8);
    // Much faster than a strict decoder, and it marks whatever it had to guess at.
    if (text.indexOf('\uFFFD') >= 0) {
      refuseMalformed(bytes, from, length);
    }
    // A raw NUL is never JSON; it is what UTF-16 looks like when read as UTF-8.
    if (text.startsWith("\uFEFF") || text.indexOf('\0') >= 0) {
      throw new ApiException(
          ErrorCode.INVALID_ENCODING, "the body must be UTF-8 without a byte order mark");
    }
    return text;
  }

  private static void refuseMalformed(byte[] bytes, int from, int length) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, from, length));
    } catch (CharacterCodingException e) {
      throw new ApiException(ErrorCode.INVALID_ENCODING, "the body is not valid UTF-8");
    }
  }

  /** The object that the text is. */
  static JsonValue.Members object(String text) {
    if (text.isBlank()) {
      throw new ApiException(ErrorCode.BODY_REQUIRED, "the body is empty; an object was expected");
    }
    return parse(
        text,
        Limits.DEPTH,
        reader -> {
          reader.next();
          JsonValue value = reader.value(false);
          reader.end();
          if (value instanceof JsonValue.Members object) {
            return object;
          }
          throw new ApiException(
              ErrorCode.OBJECT_EXPECTED,
              "the body is " + value.kind() + "; an object was expected");
        });
  }

  /** What a string literal says. */
  static String string(String literal) {
    return parse(
        literal,
        Limits.DEPTH,
        reader -> {
          reader.next();
          return reader.parser.getString();
        });
  }

  /**
   * Hands over the items of the one array in {@code {"name": [...]}} one by one, so that no tree of
   * all is built.
   */
  static void items(String text, String name, Consumer<JsonValue> each) {
    if (text.isBlank()) {
      throw new ApiException(ErrorCode.BODY_REQUIRED, "the body is empty; an object was expected");
    }
    parse(
        text,
        Limits.DEPTH + 2,
        reader -> {
          reader.readItems(name, each);
          return reader;
        });
  }

  private interface Reading<T> {
    T read(JsonText reader);
  }

  private static <T> T parse(String text, int maxDepth, Reading<T> reading) {
    try (JsonParser parser = FACTORY.createParser(ObjectReadContext.empty(), text)) {
      return reading.read(new JsonText(text, parser, maxDepth));
    } catch (StreamConstraintsException e) {
      throw tooDeep();
    } catch (JacksonException e) {
      throw invalid(e, text);
    }
  }

  private void readItems(String name, Consumer<JsonValue> each) {
    boolean seen = false;
    if (next() != JsonToken.START_OBJECT) {
      throw new ApiException(
          ErrorCode.OBJECT_EXPECTED,
          "the body is not an object; {\"" + name + "\": [...]} was expected");
    }
    while (next() != JsonToken.END_OBJECT) {
      String field = parser.currentName();
      if (!field.equals(name)) {
        throw Mistakes.one(
            new FieldError(
                "/" + Pointer.escape(field),
                ErrorCode.UNKNOWN_FIELD.code(),
                "there is no such field; did you mean " + name + "?"));
      }
      seen = true;
      if (next() != JsonToken.START_ARRAY) {
        throw Mistakes.one(
            new FieldError("/" + name, ErrorCode.INVALID_TYPE.code(), "must be an array"));
      }
      while (next() != JsonToken.END_ARRAY) {
        each.accept(value(false));
      }
    }
    end();
    if (!seen) {
      throw Mistakes.one(
          new FieldError("/" + name, ErrorCode.REQUIRED_FIELD.code(), "is required"));
    }
  }

  private void end() {
    if (parser.nextToken() != null) {
      throw new ApiException(
          ErrorCode.INVALID_JSON,
          "something follows the JSON at offset " + parser.currentTokenLocation().getCharOffset());
    }
  }

  private JsonToken next() {
    JsonToken token = parser.nextToken();
    if (token == null) {
      throw new ApiException(ErrorCode.INVALID_JSON, "the JSON ends too early");
    }
    if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
      depth++;
      if (depth > maxDepth) {
        throw tooDeep();
      }
    } else if (token == JsonToken.END_OBJECT || token == JsonToken.END_ARRAY) {
      depth--;
    } else if (mayHoldNul
        && (token == JsonToken.VALUE_STRING || token == JsonToken.PROPERTY_NAME)) {
      refuseNul(parser.getString());
    }
    return token;
  }

  /** The value that starts at the current token. */
  private JsonValue value(boolean raw) {
    if (raw) {
      return new JsonValue.Raw(slice());
    }
    JsonToken token = parser.currentToken();
    return switch (token) {
      case START_OBJECT -> fields();
      case START_ARRAY -> elements();
      case VALUE_STRING -> new JsonValue.Text(parser.getString());
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new JsonValue.Numeral(parser.getString());
      case VALUE_TRUE -> new JsonValue.Bool(true);
      case VALUE_FALSE -> new JsonValue.Bool(false);
      case VALUE_NULL -> new JsonValue.Null();
      default -> throw new ApiException(ErrorCode.INVALID_JSON, "unexpected " + token);
    };
  }

  private JsonValue.Members fields() {
    Map<String, JsonValue> fields = new LinkedHashMap<>();
    while (next() != JsonToken.END_OBJECT) {
      String name = parser.currentName();
      boolean raw = RAW.contains(name) || (depth == 1 && name.equals(RAW_AT_THE_TOP));
      next();
      fields.put(name, value(raw));
    }
    return new JsonValue.Members(fields);
  }

  private JsonValue.Array elements() {
    List<JsonValue> items = new ArrayList<>();
    while (next() != JsonToken.END_ARRAY) {
      items.add(value(false));
    }
    return new JsonValue.Array(items);
  }

  /** The text of the current value, whatever it is; every token in it is still checked. */
  private String slice() {
    int start = Math.toIntExact(parser.currentTokenLocation().getCharOffset());
    int outside = depth - (parser.currentToken().isStructStart() ? 1 : 0);
    while (depth > outside) {
      next();
    }
    parser.finishToken(); // strings are read lazily: only now is their end known
    return text.substring(start, Math.toIntExact(parser.currentLocation().getCharOffset()));
  }

  private static void refuseNul(String string) {
    if (string.indexOf('\0') >= 0) {
      throw new ApiException(ErrorCode.NUL_NOT_ALLOWED, "a string contains the character U+0000");
    }
  }

  private static ApiException tooDeep() {
    return new ApiException(
        ErrorCode.TOO_DEEP, "the body is nested deeper than " + Limits.DEPTH + " levels");
  }

  private static ApiException invalid(JacksonException e, String text) {
    long offset = e.getLocation() == null ? -1 : e.getLocation().getCharOffset();
    // The parser has no type of its own for this; its message is the only sign.
    String message = String.valueOf(e.getOriginalMessage());
    if (message.startsWith("Duplicate")) {
      return new ApiException(
          ErrorCode.DUPLICATE_FIELD, "an object has the same field twice, before offset " + offset);
    }
    String where = offset >= 0 && offset <= text.length() ? " at offset " + offset : "";
    return new ApiException(ErrorCode.INVALID_JSON, "the body is not valid JSON" + where);
  }
}
