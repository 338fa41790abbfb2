package carillon.client;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A task as the API returns it.
 *
 * @param json the whole response, for fields without a method
 */
public record TaskView(JsonNode json) {

  /** The id. */
  public UUID id() {
    return UUID.fromString(json.path("id").asString());
  }

  /** The type. */
  public String type() {
    return json.path("type").asString();
  }

  /** The business key, if any. */
  public @Nullable String key() {
    return text("key");
  }

  /** The status. */
  public TaskStatus status() {
    return TaskStatus.valueOf(json.path("status").asString());
  }

  /** The number of attempts started. */
  public int attempt() {
    return json.path("attempt").asInt();
  }

  /** The maximum number of attempts. */
  public int maxAttempts() {
    return json.path("maxAttempts").asInt();
  }

  /** The number of claims. */
  public long fence() {
    return json.path("fence").asLong();
  }

  /** When it is due. */
  public Instant dueAt() {
    return Instant.parse(json.path("dueAt").asString());
  }

  /** When it finished; null before. */
  public @Nullable Instant finishedAt() {
    String text = text("finishedAt");
    return text == null ? null : Instant.parse(text);
  }

  /** Whether a cancel was requested while it was running. */
  public boolean isCancelRequested() {
    return json.path("cancelRequested").asBoolean(false);
  }

  /** The output of the handler or the response of the target, as text. */
  public @Nullable String output() {
    return text("output");
  }

  /** The last error. */
  public @Nullable String error() {
    JsonNode message = json.path("error").path("message");
    return message.isString() ? message.asString() : null;
  }

  /** The last progress text of its worker. */
  public @Nullable String progress() {
    return text("progress");
  }

  /** The payload; a null node if there is none. */
  public JsonNode payload() {
    return json.path("payload");
  }

  private @Nullable String text(String name) {
    JsonNode node = json.path(name);
    return node.isString() ? node.asString() : null;
  }
}
