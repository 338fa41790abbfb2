package carillon.api.deadletters;

import carillon.api.tasks.TaskJson;
import carillon.store.db.Json;
import carillon.store.deadletters.ArchivedTask;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import java.time.Instant;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Writes an archived task as one line of JSON: the JSON of the API, so without the secrets of
 * targets, with times to the microsecond and without computed fields. {@link ArchiveFields} reads
 * it.
 */
public final class ArchiveLine {

  /** To be raised when a reader of the previous format could misunderstand a line. */
  static final int FORMAT = 1;

  /** Fields that are computed, or that only a live task has. */
  private static final Set<String> NOT_STORED =
      Set.of("maxAttempts", "nextAttemptAt", "leaseUntil", "duration", "cause");

  private ArchiveLine() {}

  public static String of(ArchivedTask archived) {
    TaskView task = archived.task();
    ObjectNode line = JsonNodeFactory.instance.objectNode();
    line.put("format", FORMAT);
    line.put("tenant", task.tenant()); // early, because the command line sorts lines by it
    line.setAll(TaskJson.withoutPayload(task));
    line.put("slice", task.lane().slice());
    line.put("request", task.last().request());
    putExact(line, "dueAt", task.dueAt());
    putExact(line, "createdAt", task.createdAt());
    putExact(line, "startedAt", task.startedAt());
    putExact(line, "finishedAt", task.finishedAt());
    putExact(line, "expiresAt", task.expiresAt());
    putExact(line, "fireAt", task.fireAt());
    onlyStored(line);
    putPayload(line, task.spec().payload());
    ArrayNode attempts = line.putArray("attempts");
    for (TaskStory.Attempt each : archived.attempts()) {
      ObjectNode attempt = TaskJson.of(task.id(), each);
      attempt.put("request", each.result().request()); // without the trace
      putExact(attempt, "startedAt", each.startedAt());
      putExact(attempt, "endedAt", each.endedAt());
      attempts.add(onlyStored(attempt));
    }
    ArrayNode transitions = line.putArray("transitions");
    for (TaskStory.Transition each : archived.transitions()) {
      ObjectNode transition = TaskJson.of(each);
      putExact(transition, "at", each.at());
      transitions.add(onlyStored(transition));
    }
    return Json.MAPPER.writeValueAsString(line);
  }

  /** To the microsecond, as the database stores it. */
  private static void putExact(ObjectNode node, String name, @Nullable Instant time) {
    node.put(name, time == null ? null : time.toString());
  }

  private static ObjectNode onlyStored(ObjectNode node) {
    node.remove(NOT_STORED);
    node.removeIf(JsonNode::isNull);
    if (node.get("error") instanceof ObjectNode error) {
      onlyStored(error);
    }
    return node;
  }

  /** A payload of JSON null differs from no payload. */
  private static void putPayload(ObjectNode line, @Nullable String payload) {
    if (payload == null) {
      return;
    }
    if (payload.indexOf('\n') >= 0 || payload.indexOf('\r') >= 0) {
      line.put("payloadText", payload); // JSON may have line breaks between its tokens
    } else {
      TaskJson.withPayload(line, payload);
    }
  }
}
