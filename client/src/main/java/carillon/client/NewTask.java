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
 * A task to be created. Immutable: every method returns a copy with one thing more.
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
   * A task as {@link #json} wrote it.
   *
   * @throws IllegalArgumentException if it is not an object with a type
   */
  public static NewTask fromJson(JsonNode json) {
    if (!json.isObject() || !json.path("type").isString()) {
      throw new IllegalArgumentException("a task is a JSON object with a type");
    }
    Map<String, Object> fields = new LinkedHashMap<>();
    json.properties().forEach(field -> fields.put(field.getKey(), field.getValue()));
    return new NewTask(Collections.unmodifiableMap(fields), null);
  }

  /** With this as its data: anything that the mapper writes as JSON. */
  public NewTask payload(@Nullable Object payload) {
    return with("payload", payload == null ? JsonNodeFactory.instance.nullNode() : payload);
  }

  /** With this business key, by which it can be found and cancelled. */
  public NewTask key(String key) {
    return with("key", key);
  }

  /** Due at this time, instead of now or after a delay. */
  public NewTask dueAt(Instant time) {
    return without("delay").with("dueAt", time.toString());
  }

  /** Due this long after the server gets it. */
  public NewTask delay(Duration delay) {
    return without("dueAt").with("delay", delay.toString());
  }

  /** With this urgency, 0 to 9; 5 unless said. */
  public NewTask priority(int priority) {
    return with("priority", priority);
  }

  /** Not started any more after this time. */
  public NewTask expiresAt(Instant time) {
    return without("ttl").with("expiresAt", time.toString());
  }

  /** Not started any more this long after its due time. */
  public NewTask ttl(Duration ttl) {
    return without("expiresAt").with("ttl", ttl.toString());
  }

  /** Not run beside others with the same concurrency key. */
  public NewTask concurrencyKey(String key) {
    return with("concurrencyKey", key);
  }

  /** Not created while there is one of the same type and key, or was within this time. */
  public NewTask uniqueFor(Duration span) {
    return with("unique", Map.of("for", span.toString()));
  }

  /** With one more pair of metadata. */
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
   * With a target of its own instead of its type's, as the API takes it: {@code Map.of("http",
   * Map.of("url", "https://..."))}.
   */
  public NewTask target(Object target) {
    return with("target", target);
  }

  /** With retries of its own, as the API takes them: {@code Map.of("maxAttempts", 3)}. */
  public NewTask retry(Object retry) {
    return with("retry", retry);
  }

  /** With any other field of the API. */
  public NewTask field(String name, Object value) {
    return with(name, value);
  }

  /**
   * Created at most once a day under this key of yours, also by another process after a crash;
   * otherwise each call makes a key of its own, which protects its own retries only.
   */
  public NewTask idempotencyKey(String key) {
    return new NewTask(fields, key);
  }

  /** The type. */
  public String type() {
    Object type = fields.get("type");
    return type instanceof JsonNode json ? json.asString() : String.valueOf(type);
  }

  /** The idempotency key given, if any. */
  public @Nullable String idempotencyKey() {
    return idempotencyKey;
  }

  /** The body of the request that creates it. */
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
    return "NewTask[" + type() + "]"; // without the payload, which may be a secret
  }
}
