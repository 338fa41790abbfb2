package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.task.FailureKind;
import carillon.store.db.Json;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Selects dead letters of a tenant. A field that is null or empty selects all.
 *
 * @param status of the last response
 * @param error text that the last error or its response contains
 * @param diedAfter inclusive
 * @param diedBefore exclusive
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

  /** PostgreSQL stores times in whole microseconds. */
  private static final long MICRO = 1_000;

  public DeadLetterFilter {
    metadata = Map.copyOf(metadata);
    ids = List.copyOf(ids);
  }

  /** This filter, restricted to letters that died at this time or before. */
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

  /** Whether the counters of the groups give the number of matching letters. */
  boolean isCountedByGroups() {
    return error == null
        && diedAfter == null
        && diedBefore == null
        && key == null
        && metadata.isEmpty()
        && ids.isEmpty();
  }

  /** Whether a group's own fields decide if its letters match. */
  boolean selectsGroups() {
    return failure != null || status != null || group != null;
  }

  /** As the body of a request, but with the number of ids instead of the ids. */
  ObjectNode summary() {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    if (equals(ALL)) {
      return node.put("all", true);
    }
    put(node, "type", type);
    put(node, "failure", failure == null ? null : failure.label());
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
      node.put("ids", ids.size());
    }
    return node;
  }

  private static void put(ObjectNode node, String name, @Nullable Object value) {
    if (value != null) {
      node.put(name, value.toString());
    }
  }

  /** The filter that has this summary and these ids. */
  static DeadLetterFilter parse(String summary, List<TaskId> ids) {
    JsonNode node = Json.MAPPER.readTree(summary);
    String failure = text(node, "failure");
    return new DeadLetterFilter(
        text(node, "type"),
        failure == null ? null : FailureKind.labelled(failure).orElseThrow(),
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
