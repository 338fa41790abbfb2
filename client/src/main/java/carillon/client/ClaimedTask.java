package carillon.client;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One attempt of a task, claimed by a worker.
 *
 * @param id the task id, the same for all attempts
 * @param type selects the handler
 * @param key business key, if any
 * @param attempt number of this attempt, from 1
 * @param fence increases with every claim of the task, so that a store can reject writes of an
 *     older claim
 * @param dueAt when it was due
 * @param payload the payload; a null node if the task has none
 * @param token identifies this attempt in reports; null if nothing is reported
 * @param leaseUntil when the lease expires unless renewed; null without a token
 * @param scheduleName the schedule that created the task, if any
 * @param fireAt the nominal time of the schedule, if any
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

  /** Reads an item of a {@code POST /v1/work/claim} response. */
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

  /** Reads a payload without changing its numbers, as for pulled tasks. */
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
