package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.TaskSpec;
import carillon.store.db.Json;
import carillon.store.tasks.AttemptResult;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/**
 * A dead task with its history; one line of an archive.
 *
 * @param attempts before the last one, which the task's own row holds; oldest first
 * @param transitions oldest first
 */
public record ArchivedTask(
    TaskView task, List<TaskStory.Attempt> attempts, List<TaskStory.Transition> transitions) {

  /** To be raised when a reader of the previous format could misunderstand a line. */
  public static final int FORMAT = 1;

  /** Attempts, and transitions, that are archived per task: the newest. */
  public static final int MAX_HISTORY = 1_000;

  public ArchivedTask {
    attempts = List.copyOf(attempts);
    transitions = List.copyOf(transitions);
  }

  public TaskId id() {
    return task.id();
  }

  /**
   * One line of JSON with the field names of the API, without the secrets of targets, because files
   * are copied. Nulls are left out, so that a payload of JSON null differs from no payload.
   */
  public String line() {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("format", FORMAT);
    node.put("tenant", task.tenant()); // early, because the command line sorts lines by it
    node.put("id", task.id().toString());
    node.put("type", task.type());
    put(node, "key", task.key());
    node.put("status", task.state().name());
    node.put("priority", task.priority());
    node.put("slice", task.lane().slice());
    put(node, "dueAt", task.dueAt());
    put(node, "createdAt", task.createdAt());
    put(node, "startedAt", task.startedAt());
    put(node, "finishedAt", task.finishedAt());
    put(node, "expiresAt", task.expiresAt());
    node.put("attempt", task.attempt());
    node.put("fence", task.fence());
    node.put("version", task.version());
    node.put("crashes", task.crashes());
    node.put("cancelRequested", task.cancelRequested());
    put(node, "leasedBy", task.leasedBy());
    TaskSpec spec = task.spec();
    putShown(node, "target", spec.target());
    if (spec.retry() != null) {
      node.set("retry", Json.of(spec.retry()));
    }
    node.set("metadata", Json.of(spec.metadata()));
    putShown(node, "onComplete", spec.callbacks().onComplete());
    putShown(node, "onDead", spec.callbacks().onDead());
    put(node, "concurrencyKey", spec.concurrencyKey());
    put(node, "scheduleName", task.scheduleName());
    put(node, "fireAt", task.fireAt());
    put(node, "progress", task.progress());
    put(node, task.last());
    String payload = spec.payload();
    if (payload != null && hasLineBreak(payload)) {
      node.put("payloadText", payload);
    } else if (payload != null) {
      node.putRawValue("payload", new RawValue(payload));
    }
    for (TaskStory.Attempt each : attempts) {
      ObjectNode one = node.withArray("attempts").addObject();
      one.put("attempt", each.attempt());
      one.put("fence", each.fence());
      put(one, "by", each.by());
      put(one, "startedAt", each.startedAt());
      put(one, "endedAt", each.endedAt());
      one.put("outcome", each.outcome());
      put(one, each.result());
    }
    for (TaskStory.Transition each : transitions) {
      ObjectNode one = node.withArray("transitions").addObject();
      put(one, "at", each.at());
      one.put("from", each.from().name());
      one.put("to", each.to().name());
      one.put("fence", each.fence());
      one.put("by", each.by());
      put(one, "reason", each.reason());
    }
    return Json.MAPPER.writeValueAsString(node);
  }

  /** JSON may have line breaks between its tokens; a line may not. */
  private static boolean hasLineBreak(String json) {
    return json.indexOf('\n') >= 0 || json.indexOf('\r') >= 0;
  }

  private static void put(ObjectNode node, AttemptResult result) {
    if (result.failure() != null || result.status() != null || result.error() != null) {
      ObjectNode error = node.putObject("error");
      if (result.failure() != null) {
        error.put("kind", result.failure().label());
      }
      put(error, "message", result.error());
      put(error, "status", result.status());
    }
    put(node, "output", result.output());
    put(node, "request", result.request());
  }

  private static void put(ObjectNode node, String name, @Nullable String value) {
    if (value != null) {
      node.put(name, value);
    }
  }

  private static void put(ObjectNode node, String name, @Nullable Integer value) {
    if (value != null) {
      node.put(name, value);
    }
  }

  /** To the microsecond, as the database stores it. */
  private static void put(ObjectNode node, String name, @Nullable Instant value) {
    if (value != null) {
      node.put(name, value.toString());
    }
  }

  private static void putShown(ObjectNode node, String name, @Nullable Target target) {
    if (target != null) {
      node.set(name, Json.shown(target));
    }
  }
}
