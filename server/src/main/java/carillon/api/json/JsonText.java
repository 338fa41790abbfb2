package carillon.api.json;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.error.Limits;
import carillon.api.error.ValidationErrors;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
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
 *
 * <p>It reads bytes, and the values that it makes are weighed as they are made: a body of many
 * small values takes some thirty times its length.
 */
public final class JsonText {

  private static final Set<String> RAW = Set.of("payload", "output");

  /** The same, but only at the top: deeper, it is a name like any other. */
  private static final String RAW_AT_THE_TOP = "schema";

  /**
   * Replaced after names that are long or were part of what is no JSON: a factory keeps the last
   * thousands of names that it has read, however long they are.
   */
  private static volatile JsonFactory factory = newFactory();

  private static final int LONG_NAME = 256;

  private static JsonFactory newFactory() {
    return JsonFactory.builder()
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .streamReadConstraints(
            StreamReadConstraints.builder()
                // One more than we allow ourselves: a batch adds two levels of its own.
                .maxNestingDepth(Limits.DEPTH + 3)
                // Longer than any text that is taken, but a line of an archive is longer still.
                .maxStringLength(Limits.BODY_BYTES)
                .maxNumberLength(Integer.MAX_VALUE)
                .maxNameLength(Integer.MAX_VALUE)
                .build())
        .build();
  }

  // About what values take, in bytes, with what refers to them.
  private static final int OBJECT = 160;
  private static final int FIELD = 100;
  private static final int ARRAY = 96;
  private static final int ITEM = 12;
  private static final int TEXT = 56;

  /** The parser remembers the names of every object that is not at its end. */
  private static final int NAME = 64;

  /** So much is not given back between two values that are read one after the other. */
  private static final long KEPT = 64 << 10;

  private final Source source;
  private final JsonParser parser;
  private final int maxDepth;
  private final BodyMemory.Held held;
  private final long outside; // what is held besides the values
  private int depth;
  private int values;
  private long weight;
  private boolean hasLongName;

  private JsonText(
      Source source, JsonParser parser, int maxDepth, BodyMemory.Held held, long outside) {
    this.source = source;
    this.parser = parser;
    this.maxDepth = maxDepth;
    this.held = held;
    this.outside = outside;
  }

  /** Where the bytes are. */
  private interface Source {

    Utf8Check check();

    /** By offsets as the parser counts them. */
    String text(long from, long to);
  }

  /** A text that is in memory as a whole. */
  private static final class Whole implements Source {

    private final byte[] bytes;
    private final int start;
    private final Utf8Check check;

    Whole(byte[] bytes, int start, Utf8Check check) {
      this.bytes = bytes;
      this.start = start;
      this.check = check;
    }

    @Override
    public Utf8Check check() {
      return check;
    }

    @Override
    public String text(long from, long to) {
      return new String(bytes, start + (int) from, (int) (to - from), StandardCharsets.UTF_8);
    }
  }

  /** The object that the text is. */
  public static JsonValue.Members object(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return object(bytes, 0, bytes.length, BodyMemory.Held.unbounded(), 0);
  }

  /**
   * The object that the bytes are.
   *
   * @param held covers the bytes; afterwards the object alone, for they are needed no more
   */
  public static JsonValue.Members object(byte[] bytes, int length, BodyMemory.Held held) {
    return object(bytes, 0, length, held, bytes.length);
  }

  /**
   * The object that a line is.
   *
   * @param held covers the object, until the next one
   */
  public static JsonValue.Members line(byte[] bytes, int from, int length, BodyMemory.Held held) {
    return object(bytes, from, length, held, 0);
  }

  private static JsonValue.Members object(
      byte[] bytes, int from, int length, BodyMemory.Held held, long outside) {
    Utf8Check check = new Utf8Check();
    check.check(bytes, from, from + length);
    check.end();
    if (isBlank(bytes, from, length)) {
      throw empty();
    }
    Whole whole = new Whole(bytes, from, check);
    boolean isClean = false;
    try (JsonParser parser = factory.createParser(ObjectReadContext.empty(), bytes, from, length)) {
      JsonText reader = new JsonText(whole, parser, Limits.DEPTH, held, outside);
      JsonValue.Members object = reader.readObject();
      isClean = !reader.hasLongName;
      return object;
    } catch (StreamConstraintsException e) {
      throw tooLong();
    } catch (JacksonException e) {
      throw invalid(e);
    } finally {
      if (!isClean) {
        factory = newFactory();
      }
    }
  }

  /** Whether there is nothing but white space. */
  public static boolean isBlank(byte[] bytes, int from, int length) {
    for (int i = from; i < from + length; i++) {
      if (bytes[i] > ' ' || bytes[i] < 0) {
        return false;
      }
    }
    return true;
  }

  private static ApiException empty() {
    return new ApiException(ErrorCode.BODY_REQUIRED, "the body is empty; an object was expected");
  }

  private JsonValue.Members readObject() {
    next();
    JsonValue value = value(false);
    end();
    if (value instanceof JsonValue.Members object) {
      held.shrinkTo(weight);
      return object;
    }
    throw new ApiException(
        ErrorCode.OBJECT_EXPECTED, "the body is " + value.kind() + "; an object was expected");
  }

  /** What a string literal says. */
  public static String string(String literal) {
    try (JsonParser parser = factory.createParser(ObjectReadContext.empty(), literal)) {
      parser.nextToken();
      return parser.getString();
    } catch (StreamConstraintsException e) {
      throw tooLong();
    } catch (JacksonException e) {
      throw invalid(e);
    }
  }

  /**
   * Hands over the items of the one array in {@code {"name": [...]}} one by one as they arrive, so
   * that only one of them is held at a time.
   *
   * @param maxItem bytes that an item may have
   */
  public static void items(
      InputStream in, String name, int maxItem, BodyMemory.Share share, Consumer<JsonValue> each) {
    items(new Window(in, name, maxItem, share.held()), name, share.held(), each);
  }

  /** Hands over the items of the array in a text that is in memory. */
  static void items(String text, String name, Consumer<JsonValue> each) {
    InputStream in = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    BodyMemory.Held held = BodyMemory.Held.unbounded();
    items(new Window(in, name, Integer.MAX_VALUE, held), name, held, each);
  }

  private static void items(
      Window window, String name, BodyMemory.Held held, Consumer<JsonValue> each) {
    boolean isClean = false;
    try (JsonParser parser = factory.createParser(ObjectReadContext.empty(), window)) {
      JsonText reader = new JsonText(window, parser, Limits.DEPTH + 2, held, 0);
      reader.readItems(name, window, each);
      isClean = !reader.hasLongName;
    } catch (StreamConstraintsException e) {
      throw tooLong();
    } catch (JacksonException e) {
      throw window.isBlank() ? empty() : invalid(e);
    } finally {
      if (!isClean) {
        factory = newFactory();
      }
    }
  }

  /** What the parser has read of a stream, from the start of the current item on. */
  private static final class Window extends InputStream implements Source {

    private static final int PIECE = 8 << 10;

    private final InputStream in;
    private final String name;
    private final int maxItem;
    private final BodyMemory.Held held;
    private final Utf8Check check = new Utf8Check();
    private byte[] bytes = new byte[0];
    private int size;
    private long start; // the offset of the first byte
    private long wanted; // bytes before this offset are not needed any more
    private boolean isBlank = true;

    Window(InputStream in, String name, int maxItem, BodyMemory.Held held) {
      this.in = in;
      this.name = name;
      this.maxItem = maxItem;
      this.held = held;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      int read = in.read(buffer, offset, Math.min(length, PIECE));
      if (read < 0) {
        check.end();
        return read;
      }
      check.check(buffer, offset, offset + read);
      isBlank = isBlank && JsonText.isBlank(buffer, offset, read);
      forget();
      if (size > maxItem) {
        throw new ApiException(
                ErrorCode.BODY_TOO_LARGE,
                "an item of " + name + " has more than " + maxItem + " bytes")
            .closing();
      }
      if (size + read > bytes.length) {
        int grown = Math.max(2 * PIECE, Math.max(size + read, 2 * bytes.length));
        held.need((long) bytes.length + grown);
        bytes = Arrays.copyOf(bytes, grown);
      }
      System.arraycopy(buffer, offset, bytes, size, read);
      size += read;
      return read;
    }

    private void forget() {
      int gone = (int) Math.min(size, wanted - start);
      if (gone > 0) {
        System.arraycopy(bytes, gone, bytes, 0, size - gone);
        size -= gone;
        start += gone;
      }
    }

    void keepFrom(long offset) {
      wanted = offset;
    }

    boolean isBlank() {
      return isBlank;
    }

    @Override
    public Utf8Check check() {
      return check;
    }

    @Override
    public String text(long from, long to) {
      return new String(bytes, (int) (from - start), (int) (to - from), StandardCharsets.UTF_8);
    }
  }

  private void readItems(String name, Window window, Consumer<JsonValue> each) {
    boolean seen = false;
    JsonToken first = parser.nextToken();
    if (first == null) {
      throw window.isBlank() ? empty() : endsEarly();
    }
    depth++;
    if (first != JsonToken.START_OBJECT) {
      throw new ApiException(
          ErrorCode.OBJECT_EXPECTED,
          "the body is not an object; {\"" + name + "\": [...]} was expected");
    }
    while (next() != JsonToken.END_OBJECT) {
      String field = parser.currentName();
      if (!field.equals(name)) {
        throw ValidationErrors.one(
            new FieldError(
                "/" + Pointer.escape(field),
                ErrorCode.UNKNOWN_FIELD.code(),
                "unknown field; did you mean " + name + "?"));
      }
      seen = true;
      if (next() != JsonToken.START_ARRAY) {
        throw ValidationErrors.one(
            new FieldError("/" + name, ErrorCode.INVALID_TYPE.code(), "must be an array"));
      }
      while (next() != JsonToken.END_ARRAY) {
        window.keepFrom(parser.currentTokenLocation().getByteOffset());
        values = 0;
        weight = 0;
        held.shrinkTo(KEPT);
        each.accept(value(false));
      }
    }
    end();
    if (!seen) {
      throw ValidationErrors.one(
          new FieldError("/" + name, ErrorCode.REQUIRED_FIELD.code(), "is required"));
    }
  }

  private void end() {
    if (parser.nextToken() != null) {
      throw new ApiException(
          ErrorCode.INVALID_JSON,
          "something follows the JSON at offset " + parser.currentTokenLocation().getByteOffset());
    }
  }

  private JsonToken next() {
    JsonToken token = parser.nextToken();
    if (token == null) {
      throw endsEarly();
    }
    if (token == JsonToken.START_OBJECT || token == JsonToken.START_ARRAY) {
      depth++;
      if (depth > maxDepth) {
        throw tooDeep();
      }
    } else if (token == JsonToken.END_OBJECT || token == JsonToken.END_ARRAY) {
      depth--;
    } else if (token == JsonToken.PROPERTY_NAME || token == JsonToken.VALUE_STRING) {
      hasLongName |= token == JsonToken.PROPERTY_NAME && parser.currentName().length() > LONG_NAME;
      if (source.check().mayHoldNul()) {
        refuseNul(parser.getString());
      }
    }
    return token;
  }

  private static ApiException endsEarly() {
    return new ApiException(ErrorCode.INVALID_JSON, "the JSON ends too early");
  }

  /** Takes memory for what is made next. */
  private void weigh(long bytes) {
    weight += bytes;
    held.need(outside + weight);
  }

  /** About what a text of this many bytes takes as a string. */
  private long weightOf(long length) {
    return TEXT + (source.check().isAscii() ? length : 2 * length);
  }

  /** The value that starts at the current token. */
  private JsonValue value(boolean raw) {
    if (raw) {
      return new JsonValue.Raw(slice());
    }
    values++;
    if (values > Limits.BODY_VALUES) {
      throw new ApiException(
              ErrorCode.BODY_TOO_LARGE,
              "the body has more than "
                  + Limits.BODY_VALUES
                  + " values, not counting those in payloads; send less at once")
          .closing();
    }
    JsonToken token = parser.currentToken();
    return switch (token) {
      case START_OBJECT -> fields();
      case START_ARRAY -> elements();
      case VALUE_STRING -> new JsonValue.Text(text());
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new JsonValue.Numeral(text());
      case VALUE_TRUE -> JsonValue.Bool.TRUE;
      case VALUE_FALSE -> JsonValue.Bool.FALSE;
      case VALUE_NULL -> JsonValue.Null.NULL;
      default -> throw new ApiException(ErrorCode.INVALID_JSON, "unexpected " + token);
    };
  }

  private String text() {
    String text = parser.getString();
    weigh(weightOf(text.length()));
    return text;
  }

  private JsonValue.Members fields() {
    if (next() == JsonToken.END_OBJECT) {
      weigh(ITEM);
      return new JsonValue.Members(Map.of());
    }
    Map<String, JsonValue> fields = new LinkedHashMap<>();
    weigh(OBJECT);
    do {
      String name = parser.currentName();
      weigh(FIELD + NAME + weightOf(name.length()));
      boolean raw = RAW.contains(name) || (depth == 1 && name.equals(RAW_AT_THE_TOP));
      next();
      fields.put(name, value(raw));
    } while (next() != JsonToken.END_OBJECT);
    return new JsonValue.Members(fields);
  }

  private JsonValue.Array elements() {
    if (next() == JsonToken.END_ARRAY) {
      weigh(ITEM);
      return new JsonValue.Array(List.of());
    }
    List<JsonValue> items = new ArrayList<>();
    weigh(ARRAY);
    do {
      weigh(ITEM);
      items.add(value(false));
    } while (next() != JsonToken.END_ARRAY);
    return new JsonValue.Array(items);
  }

  /** The text of the current value, whatever it is; every token in it is still checked. */
  private String slice() {
    long start = parser.currentTokenLocation().getByteOffset();
    long before = weight;
    int outer = depth - (parser.currentToken().isStructStart() ? 1 : 0);
    while (depth > outer) {
      if (next() == JsonToken.PROPERTY_NAME) {
        weigh(NAME + weightOf(parser.getStringLength()));
      }
    }
    parser.finishToken(); // strings are read lazily: only now is their end known
    weight = before;
    long end = parser.currentLocation().getByteOffset();
    weigh(weightOf(end - start));
    return source.text(start, end);
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

  private static ApiException tooLong() {
    return new ApiException(
            ErrorCode.BODY_TOO_LARGE,
            "a string in the body has more than " + Limits.BODY_BYTES + " characters")
        .closing();
  }

  private static ApiException invalid(JacksonException e) {
    long offset = e.getLocation() == null ? -1 : e.getLocation().getByteOffset();
    String where = offset >= 0 ? " at offset " + offset : "";
    // The parser has no type of its own for this; its message is the only sign.
    String message = String.valueOf(e.getOriginalMessage());
    if (message.startsWith("Duplicate")) {
      return new ApiException(
          ErrorCode.DUPLICATE_FIELD,
          "an object has the same field twice" + where.replace(" at ", ", before "));
    }
    return new ApiException(ErrorCode.INVALID_JSON, "the body is not valid JSON" + where);
  }
}
