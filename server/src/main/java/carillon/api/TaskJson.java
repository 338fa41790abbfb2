package carillon.api;

import carillon.model.Callbacks;
import carillon.model.ClaimedTask;
import carillon.model.Target;
import carillon.store.Json;
import carillon.store.TaskStory;
import carillon.store.TaskView;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/** Renders tasks: times in UTC, durations in ISO 8601, payloads as the JSON that came in. */
final class TaskJson {

  private TaskJson() {}

  static ObjectNode of(TaskView task) {
    return withPayload(withoutPayload(task), task.payload());
  }

  static ObjectNode withoutPayload(TaskView task) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("id", task.id().toString());
    node.put("tenant", task.tenant());
    node.put("type", task.type());
    node.put("key", task.key());
    node.put("status", task.state().name());
    node.put("priority", task.priority());
    node.put("dueAt", Times.format(task.dueAt()));
    node.put("createdAt", Times.format(task.createdAt()));
    node.put("startedAt", Times.formatOrNull(task.startedAt()));
    node.put("finishedAt", Times.formatOrNull(task.finishedAt()));
    node.put("expiresAt", Times.formatOrNull(task.expiresAt()));
    node.put("attempt", task.attempt());
    node.put("maxAttempts", task.maxAttempts());
    node.put("nextAttemptAt", Times.formatOrNull(task.readyAt()));
    node.put("version", task.version());
    node.put("fence", task.fence());
    node.put("cancelRequested", task.cancelRequested());
    node.put("leasedBy", task.leasedBy());
    node.put("leaseUntil", Times.formatOrNull(task.leaseUntil()));
    target(node, "target", task.target());
    node.set(
        "retry",
        task.retry() == null ? JsonNodeFactory.instance.nullNode() : Json.of(task.retry()));
    node.put("concurrencyKey", task.concurrencyKey());
    node.put("scheduleName", task.scheduleName());
    node.set("metadata", Json.of(task.metadata()));
    node.put("output", task.output());
    error(node, task.failure(), task.error(), task.status());
    node.put("progress", task.progress());
    callbacks(node, task.callbacks());
    return node;
  }

  static void callbacks(ObjectNode node, Callbacks callbacks) {
    target(node, "onComplete", callbacks.onComplete());
    target(node, "onDead", callbacks.onDead());
  }

  private static void target(ObjectNode node, String name, @Nullable Target target) {
    node.set(name, target == null ? JsonNodeFactory.instance.nullNode() : Json.of(target));
  }

  static ObjectNode withPayload(ObjectNode node, @Nullable String payload) {
    if (payload == null) {
      node.putNull("payload");
    } else {
      node.putRawValue("payload", new RawValue(payload));
    }
    return node;
  }

  static ObjectNode of(TaskStory story) {
    TaskView task = story.task();
    ObjectNode node = of(task);
    ArrayNode attempts = node.putArray("attempts");
    for (TaskStory.Attempt attempt : story.attempts()) {
      ObjectNode each = attempts.addObject();
      each.put("attempt", attempt.attempt());
      each.put("fence", attempt.fence());
      each.put("by", attempt.by());
      each.put("startedAt", Times.formatOrNull(attempt.startedAt()));
      each.put("endedAt", Times.formatOrNull(attempt.endedAt()));
      each.put("outcome", attempt.outcome());
      error(each, attempt.failure(), attempt.error(), attempt.status());
      each.put("output", attempt.output());
    }
    ArrayNode transitions = node.putArray("transitions");
    // The creation is not a change of state, and so not among the kept ones; the trail still starts
    // with it.
    transitions
        .addObject()
        .put("at", Times.format(task.createdAt()))
        .putNull("from")
        .put("to", "PENDING")
        .put("fence", 0)
        .putNull("by")
        .put("reason", "created");
    for (TaskStory.Transition transition : story.transitions()) {
      ObjectNode each = transitions.addObject();
      each.put("at", Times.format(transition.at()));
      each.put("from", transition.from().name());
      each.put("to", transition.to().name());
      each.put("fence", transition.fence());
      each.put("by", transition.by());
      each.put("reason", transition.reason());
    }
    return node;
  }

  /** What a worker is handed. */
  static ObjectNode claimed(ClaimedTask task) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("id", task.id().toString());
    node.put("type", task.type());
    node.put("key", task.key());
    node.put("priority", task.priority());
    node.put("dueAt", Times.format(task.dueAt()));
    node.put("attempt", task.attempt());
    node.put("maxAttempts", task.retry().maxAttempts());
    node.put("token", WorkToken.of(task.lease()));
    node.put("fence", task.lease().fence());
    node.put("leaseUntil", Times.formatOrNull(task.leaseUntil()));
    node.put("timeout", task.timeout().toString());
    return withPayload(node, task.payload());
  }

  private static void error(
      ObjectNode node, @Nullable Enum<?> kind, @Nullable String message, @Nullable Integer status) {
    if (kind == null && message == null) {
      node.putNull("error");
      return;
    }
    ObjectNode error = node.putObject("error");
    error.put("kind", kind == null ? null : kind.name().toLowerCase(Locale.ROOT));
    error.put("message", message);
    error.put("status", status);
  }
}
