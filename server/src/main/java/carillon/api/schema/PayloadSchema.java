package carillon.api.schema;

import carillon.api.error.ErrorCode;
import carillon.api.error.ValidationErrors;
import carillon.api.json.Pointer;
import carillon.model.Echo;
import carillon.store.db.Json;
import com.networknt.schema.Error;
import com.networknt.schema.ExecutionContext;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.dialect.Dialect;
import com.networknt.schema.dialect.DialectId;
import com.networknt.schema.dialect.Dialects;
import com.networknt.schema.path.NodePath;
import com.networknt.schema.path.PathType;
import com.networknt.schema.resource.SchemaLoader;
import java.math.BigDecimal;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.node.ValueNode;

/** The compiled JSON Schema (2020-12) of a type's payloads. */
public final class PayloadSchema {

  private static final Logger log = LoggerFactory.getLogger(PayloadSchema.class);

  private static final int MAX_MESSAGE = 200;

  /** Names that the library reads in the time of one step. */
  private static final int NAMES_PER_STEP = 32;

  private static final long BYTES_PER_CHARACTER = 25;
  private static final long BYTES_PER_SUBSCHEMA = 300;
  private static final long BYTES_PER_INSTRUCTION = 100;

  private final String text;
  private final Schema schema;
  private final SchemaRules.Size size;
  private final int stepsPerKeyword;

  private PayloadSchema(String text, Schema schema, SchemaRules.Size size) {
    this.text = text;
    this.schema = schema;
    this.size = size;
    this.stepsPerKeyword = 1 + size.widest() / NAMES_PER_STEP;
  }

  /** Compiles a schema; empty if it has errors, which are added. */
  public static Optional<PayloadSchema> compile(
      String text, String pointer, ValidationErrors errors) {
    Optional<JsonNode> read = read(text);
    if (read.isEmpty()) {
      errors.add(pointer, ErrorCode.INVALID_SCHEMA, "has a number with too many digits");
      return Optional.empty();
    }
    JsonNode node = read.get();
    ValidationErrors found = new ValidationErrors();
    Library.META.check(node, pointer, ErrorCode.INVALID_SCHEMA, new CheckBudget(1), found);
    SchemaRules.Size size =
        found.isEmpty() ? SchemaRules.check(node, pointer, found) : Library.SMALL;
    found.addTo(errors);
    return found.isEmpty() ? compile(text, node, size, pointer, errors) : Optional.empty();
  }

  private static Optional<PayloadSchema> compile(
      String text, JsonNode node, SchemaRules.Size size, String pointer, ValidationErrors errors) {
    if (node instanceof ObjectNode top) {
      top.remove("$id"); // or references that start with # would be resolved against it
    }
    try {
      Schema schema = Library.TENANTS.getSchema(node);
      return Optional.of(new PayloadSchema(text, schema, size));
    } catch (RuntimeException e) { // a tenant's schema must never be a failure of ours
      errors.add(pointer, ErrorCode.INVALID_SCHEMA, "has a value that is out of range");
      return Optional.empty();
    }
  }

  /** The approximate memory of the compiled schema. */
  long bytes() {
    return BYTES_PER_CHARACTER * text.length()
        + BYTES_PER_SUBSCHEMA * size.schemas()
        + BYTES_PER_INSTRUCTION * size.patternWeight();
  }

  /**
   * Validates a payload and adds its errors.
   *
   * @param payload JSON; null stands for the JSON null
   * @param pointer to the payload in the request
   */
  void check(
      @Nullable String payload, String pointer, CheckBudget budget, ValidationErrors errors) {
    Optional<JsonNode> read = read(payload == null ? "null" : payload);
    if (read.isEmpty()) {
      errors.add(pointer, ErrorCode.SCHEMA_MISMATCH, "has a number with too many digits");
      return;
    }
    check(read.get(), pointer, ErrorCode.SCHEMA_MISMATCH, budget, errors);
  }

  private void check(
      JsonNode value, String pointer, ErrorCode code, CheckBudget budget, ValidationErrors errors) {
    budget.nextPayload();
    Check check = new Check(budget, stepsPerKeyword);
    try {
      ScopedValue.where(CheckBudget.CURRENT, budget).run(() -> schema.validate(check, value));
    } catch (CheckBudget.Exceeded e) {
      errors.add(
          pointer,
          code,
          budget.isSpent()
              ? "validation of this request takes too many steps;"
                  + " send fewer tasks at once, or simplify the schema"
              : "validation takes too many steps; simplify the schema");
      return;
    } catch (RuntimeException e) { // never stored without validation, and never a failure of ours
      log.warn("payload validation failed error={}", e.getClass().getName());
      errors.add(pointer, code, "cannot be validated; simplify the schema");
      return;
    }
    for (Error error : check.getErrors()) {
      errors.add(pointer + pointer(error.getInstanceLocation()), code, message(error));
    }
  }

  private static String pointer(NodePath path) {
    StringBuilder pointer = new StringBuilder();
    for (int i = 0; i < path.getNameCount(); i++) {
      pointer.append('/').append(Pointer.escape(path.getName(i)));
    }
    return pointer.toString();
  }

  /** The message contains names and values of schema and payload, which tenants choose. */
  private static String message(Error error) {
    return Echo.of(error.getMessage().replace("'", "").replace("\"", ""), MAX_MESSAGE);
  }

  /** One validation, which counts its steps. */
  private static final class Check extends ExecutionContext {

    private static final int STEPS_PER_ERROR = 10;
    private static final int MAX_DEPTH = 1_000;

    private final CheckBudget budget;
    private final int stepsPerKeyword;
    private int depth;

    Check(CheckBudget budget, int stepsPerKeyword) {
      this.budget = budget;
      this.stepsPerKeyword = stepsPerKeyword;
    }

    @Override
    public void evaluationPathAddLast(String token) {
      enter();
      super.evaluationPathAddLast(token);
    }

    @Override
    public void evaluationPathAddLast(int token) {
      enter();
      super.evaluationPathAddLast(token);
    }

    private void enter() {
      budget.spend(stepsPerKeyword);
      if (depth == MAX_DEPTH) {
        throw new CheckBudget.Exceeded();
      }
      depth++;
    }

    @Override
    public void evaluationPathRemoveLast() {
      depth--;
      super.evaluationPathRemoveLast();
    }

    @Override
    public void addError(Error error) {
      budget.spend(STEPS_PER_ERROR);
      super.addError(error);
    }
  }

  private static Optional<JsonNode> read(String json) {
    try {
      return Optional.of(Library.MAPPER.readTree(json));
    } catch (JacksonException | NumberTooLong | NumberFormatException e) {
      return Optional.empty(); // thrown for an exponent that does not fit into an int
    }
  }

  /** A short number such as 1e999999999 whose arithmetic takes long. */
  private static final class NumberTooLong extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /** The library, initialized by the first schema. */
  private static final class Library {

    private static final int MAX_DIGITS = 1_000;

    static final SchemaRules.Size SMALL = new SchemaRules.Size(0, 1, 0);

    static final JsonMapper MAPPER =
        JsonMapper.builder(Json.FORGETFUL)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .nodeFactory(new Numbers())
            .build();

    private static final SchemaRegistryConfig CONFIG =
        SchemaRegistryConfig.builder()
            .regularExpressionFactory(LinearPattern::compile)
            .pathType(PathType.JSON_POINTER)
            .locale(Locale.ENGLISH)
            .preloadSchema(false)
            .build();

    /** The meta-schema, which is part of the library. */
    static final PayloadSchema META =
        new PayloadSchema(
            "",
            SchemaRegistry.withDialect(
                    Dialects.getDraft202012(), builder -> builder.schemaRegistryConfig(CONFIG))
                .getSchema(SchemaLocation.of(DialectId.DRAFT_2020_12)),
            SMALL);

    /** The library would keep unknown keywords in memory forever and log them. */
    private static final Dialect DIALECT =
        Dialect.builder(Dialects.getDraft202012()).unknownKeywordFactory((_, _) -> null).build();

    static final SchemaRegistry TENANTS =
        SchemaRegistry.withDialect(
            DIALECT,
            builder ->
                builder
                    .schemaLoader(SchemaLoader.builder().block(_ -> true).build())
                    .schemaRegistryConfig(CONFIG));

    private Library() {}

    /** Makes 1.0 equal to 1, and rejects numbers with too many digits. */
    private static final class Numbers extends JsonNodeFactory {
      private static final long serialVersionUID = 1L;

      @Override
      public ValueNode numberNode(@Nullable BigDecimal value) {
        if (value == null) {
          return nullNode();
        }
        BigDecimal plain = value.stripTrailingZeros();
        if (Math.abs((long) plain.scale()) > MAX_DIGITS || plain.precision() > MAX_DIGITS) {
          throw new NumberTooLong();
        }
        return plain.scale() > 0
            ? super.numberNode(plain)
            : super.numberNode(plain.toBigIntegerExact());
      }
    }
  }
}
