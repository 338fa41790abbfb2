package carillon.client;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A task as the server shows it.
 *
 * @param json all that the server said, for what has no method here
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

  /** The business key, if it has one. */
  public @Nullable String key() {
    return text("key");
  }

  /** Where it is in its life. */
  public TaskStatus status() {
    return TaskStatus.valueOf(json.path("status").asString());
  }

  /** How many attempts were started. */
  public int attempt() {
    return json.path("attempt").asInt();
  }

  /** How many attempts it may have. */
  public int maxAttempts() {
    return json.path("maxAttempts").asInt();
  }

  /** How often it was claimed. */
  public long fence() {
    return json.path("fence").asLong();
  }

  /** When it is due. */
  public Instant dueAt() {
    return Instant.parse(json.path("dueAt").asString());
  }

  /** When it ended; null before. */
  public @Nullable Instant finishedAt() {
    String text = text("finishedAt");
    return text == null ? null : Instant.parse(text);
  }

  /** Whether a cancel was asked for while it ran. */
  public boolean isCancelRequested() {
    return json.path("cancelRequested").asBoolean(false);
  }

  /** What its handler returned or its target answered, as text. */
  public @Nullable String output() {
    return text("output");
  }

  /** What went wrong the last time, in words. */
  public @Nullable String error() {
    JsonNode message = json.path("error").path("message");
    return message.isString() ? message.asString() : null;
  }

  /** What its worker last said about how far it is. */
  public @Nullable String progress() {
    return text("progress");
  }

  /** What was given as payload; a null node if nothing was. */
  public JsonNode payload() {
    return json.path("payload");
  }

  private @Nullable String text(String name) {
    JsonNode node = json.path(name);
    return node.isString() ? node.asString() : null;
  }
}
