package carillon.client;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One attempt of a task, handed out to be worked on.
 *
 * @param id the task, the same for all its attempts
 * @param type what its handler is found by
 * @param key its business key, if it has one
 * @param attempt which attempt this is, from 1
 * @param fence grows with every claim of the task, so that what is written to can refuse an older
 *     one
 * @param dueAt when it was due
 * @param payload its data; a null node if it has none
 * @param token what reports name this attempt by; null if nothing is reported
 * @param leaseUntil when it goes to somebody else unless renewed; null without a token
 * @param scheduleName the schedule that made it, if one did
 * @param fireAt the nominal time of the schedule, if one made it
 */
public record ClaimedTask(
    UUID id,
    String type,
    @Nullable String key,
    int attempt,
    long fence,
    Instant dueAt,
    JsonNode payload,
    @Nullable String token,
    @Nullable Instant leaseUntil,
    @Nullable String scheduleName,
    @Nullable Instant fireAt) {

  /** As an item of what {@code POST /v1/work/claim} answers. */
  static ClaimedTask of(JsonNode json) {
    return new ClaimedTask(
        UUID.fromString(json.path("id").asString()),
        json.path("type").asString(),
        text(json, "key"),
        json.path("attempt").asInt(),
        json.path("fence").asLong(),
        Instant.parse(json.path("dueAt").asString()),
        json.path("payload"),
        text(json, "token"),
        time(json, "leaseUntil"),
        text(json, "scheduleName"),
        time(json, "fireAt"));
  }

  /** Reads a payload whose numbers stay as they were written, as those of pulled tasks do. */
  public static JsonNode readPayload(byte[] json) {
    return Connection.JSON.readTree(json);
  }

  private static @Nullable String text(JsonNode json, String name) {
    JsonNode node = json.path(name);
    return node.isString() ? node.asString() : null;
  }

  private static @Nullable Instant time(JsonNode json, String name) {
    String text = text(json, name);
    return text == null ? null : Instant.parse(text);
  }

  @Override
  public String toString() {
    return type + " " + id + " attempt " + attempt; // neither payload nor token
  }
}
