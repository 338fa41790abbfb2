package carillon.store;

import carillon.model.FailureKind;
import carillon.model.TaskId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Which dead letters of a tenant; what is null or empty does not matter.
 *
 * @param status of the last answer on the wire
 * @param error a text that the last error contains
 * @param diedAfter or at that very time
 * @param group the fingerprint of their errors
 */
public record DeadLetterFilter(
    @Nullable String type,
    @Nullable FailureKind failure,
    @Nullable Integer status,
    @Nullable String error,
    @Nullable Instant diedAfter,
    @Nullable Instant diedBefore,
    @Nullable String key,
    Map<String, String> metadata,
    @Nullable String group,
    List<TaskId> ids) {

  public static final DeadLetterFilter ALL =
      new DeadLetterFilter(
          null, null, null, null, null, null, null, Map.of(), null, List.<TaskId>of());

  /** PostgreSQL's times are whole microseconds. */
  private static final long MICRO = 1_000;

  public DeadLetterFilter {
    metadata = Map.copyOf(metadata);
    ids = List.copyOf(ids);
  }

  /** The same, but nothing that died after this. */
  DeadLetterFilter until(Instant last) {
    Instant end = last.plusNanos(MICRO);
    return new DeadLetterFilter(
        type,
        failure,
        status,
        error,
        diedAfter,
        diedBefore == null || end.isBefore(diedBefore) ? end : diedBefore,
        key,
        metadata,
        group,
        ids);
  }

  /** Whether the groups say which of them have such letters. */
  boolean isAboutGroups() {
    return failure != null || status != null || group != null;
  }

  /** As the body of a request would say it. */
  public ObjectNode json() {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    if (equals(ALL)) {
      return node.put("all", true);
    }
    put(node, "type", type);
    put(node, "failure", failure == null ? null : failure.name());
    if (status != null) {
      node.put("status", status);
    }
    put(node, "error", error);
    put(node, "diedAfter", diedAfter);
    put(node, "diedBefore", diedBefore);
    put(node, "key", key);
    if (!metadata.isEmpty()) {
      node.set("metadata", Json.of(metadata));
    }
    put(node, "group", group);
    if (!ids.isEmpty()) {
      ArrayNode array = node.putArray("ids");
      ids.forEach(id -> array.add(id.toString()));
    }
    return node;
  }

  /** The same for a record of it: how many ids, and not each. */
  ObjectNode summary() {
    ObjectNode node = json();
    return ids.isEmpty() ? node : node.put("ids", ids.size());
  }

  private static void put(ObjectNode node, String name, @Nullable Object value) {
    if (value != null) {
      node.put(name, value.toString());
    }
  }

  /** Reads what {@link #json} wrote. */
  static DeadLetterFilter parse(String json) {
    JsonNode node = Json.MAPPER.readTree(json);
    String failure = text(node, "failure");
    List<TaskId> ids = new ArrayList<>();
    node.path("ids").forEach(id -> ids.add(TaskId.parse(id.asString()).orElseThrow()));
    return new DeadLetterFilter(
        text(node, "type"),
        failure == null ? null : FailureKind.valueOf(failure),
        node.has("status") ? node.get("status").asInt() : null,
        text(node, "error"),
        time(node, "diedAfter"),
        time(node, "diedBefore"),
        text(node, "key"),
        node.has("metadata") ? Json.pairs(node.get("metadata").toString()) : Map.of(),
        text(node, "group"),
        ids);
  }

  private static @Nullable String text(JsonNode node, String name) {
    return node.has(name) ? node.get(name).asString() : null;
  }

  private static @Nullable Instant time(JsonNode node, String name) {
    String text = text(node, name);
    return text == null ? null : Instant.parse(text);
  }
}
