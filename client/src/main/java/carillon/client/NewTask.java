package carillon.client;

import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * A task to create. Immutable: every method returns a changed copy.
 *
 * <pre>{@code
 * NewTask.of("invoice.send").payload(invoice).key("42").delay(Duration.ofMinutes(5))
 * }</pre>
 */
public final class NewTask {

  private final Map<String, Object> fields;
  private final @Nullable String idempotencyKey;

  private NewTask(Map<String, Object> fields, @Nullable String idempotencyKey) {
    this.fields = fields;
    this.idempotencyKey = idempotencyKey;
  }

  /** A task of this type, due now. */
  public static NewTask of(String type) {
    return new NewTask(Map.of("type", type), null);
  }

  /**
   * Reads a task that {@link #json} wrote.
   *
   * @throws IllegalArgumentException if it is not an object with a type
   */
  public static NewTask fromJson(JsonNode json) {
    if (!json.isObject() || !json.path("type").isString()) {
      throw new IllegalArgumentException("a task must be a JSON object with a type");
    }
    Map<String, Object> fields = new LinkedHashMap<>();
    json.properties().forEach(field -> fields.put(field.getKey(), field.getValue()));
    return new NewTask(Collections.unmodifiableMap(fields), null);
  }

  /** Sets the payload: any value that the mapper can write as JSON. */
  public NewTask payload(@Nullable Object payload) {
    return with("payload", payload == null ? JsonNodeFactory.instance.nullNode() : payload);
  }

  /** Sets the business key, for lookup and cancel. */
  public NewTask key(String key) {
    return with("key", key);
  }

  /** Sets the due time, instead of now or a delay. */
  public NewTask dueAt(Instant time) {
    return without("delay").with("dueAt", time.toString());
  }

  /** Sets the delay, counted from when the server receives the task. */
  public NewTask delay(Duration delay) {
    return without("dueAt").with("delay", delay.toString());
  }

  /** Sets the priority, 0 to 9; higher is more urgent. Default: 5. */
  public NewTask priority(int priority) {
    return with("priority", priority);
  }

  /** Expires the task if it has not started by this time. */
  public NewTask expiresAt(Instant time) {
    return without("ttl").with("expiresAt", time.toString());
  }

  /** Expires the task if it has not started this long after its due time. */
  public NewTask ttl(Duration ttl) {
    return without("expiresAt").with("ttl", ttl.toString());
  }

  /** Runs at most one task of this type and concurrency key at a time. */
  public NewTask concurrencyKey(String key) {
    return with("concurrencyKey", key);
  }

  /**
   * Makes the task unique: if one with this type and key was created within this time, the server
   * returns that one.
   */
  public NewTask uniqueFor(Duration span) {
    return with("unique", Map.of("for", span.toString()));
  }

  /** Adds a metadata entry. */
  public NewTask metadata(String name, String value) {
    Map<String, Object> all = new LinkedHashMap<>();
    Object before = fields.get("metadata");
    if (before instanceof Map<?, ?> map) {
      map.forEach((key, old) -> all.put(String.valueOf(key), old));
    } else if (before instanceof JsonNode json) {
      json.properties().forEach(pair -> all.put(pair.getKey(), pair.getValue()));
    }
    all.put(name, value);
    return with("metadata", Collections.unmodifiableMap(all));
  }

  /**
   * Sets a target instead of the type's, in the format of the API: {@code Map.of("http",
   * Map.of("url", "https://..."))}.
   */
  public NewTask target(Object target) {
    return with("target", target);
  }

  /** Sets a retry policy, in the format of the API: {@code Map.of("maxAttempts", 3)}. */
  public NewTask retry(Object retry) {
    return with("retry", retry);
  }

  /** Sets any other field of the API. */
  public NewTask field(String name, Object value) {
    return with(name, value);
  }

  /**
   * Creates the task at most once a day per idempotency key, even if another process repeats the
   * call after a crash. Without one, each call generates a key that covers only its own retries.
   */
  public NewTask idempotencyKey(String key) {
    return new NewTask(fields, key);
  }

  /** The type. */
  public String type() {
    Object type = fields.get("type");
    return type instanceof JsonNode json ? json.asString() : String.valueOf(type);
  }

  /** The idempotency key, if set. */
  public @Nullable String idempotencyKey() {
    return idempotencyKey;
  }

  /** The request body. */
  public ObjectNode json(JsonMapper mapper) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    fields.forEach((name, value) -> json.set(name, mapper.valueToTree(value)));
    return json;
  }

  boolean isUnique() {
    return fields.containsKey("unique");
  }

  private NewTask with(String name, Object value) {
    Map<String, Object> more = new LinkedHashMap<>(fields);
    more.put(name, value);
    return new NewTask(Collections.unmodifiableMap(more), idempotencyKey);
  }

  private NewTask without(String name) {
    Map<String, Object> fewer = new LinkedHashMap<>(fields);
    fewer.remove(name);
    return new NewTask(fewer, idempotencyKey);
  }

  @Override
  public String toString() {
    return "NewTask[" + type() + "]"; // without the payload, which may be secret
  }
}
