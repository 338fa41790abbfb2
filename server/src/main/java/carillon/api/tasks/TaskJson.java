package carillon.api.tasks;

import carillon.api.json.Times;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.target.TraceParent;
import carillon.model.task.Callbacks;
import carillon.model.task.ClaimToken;
import carillon.model.task.ClaimedTask;
import carillon.model.task.FailureKind;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskState;
import carillon.store.db.Json;
import carillon.store.tasks.AttemptResult;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/** Renders tasks: times in UTC, durations in ISO 8601, payloads byte for byte. */
public final class TaskJson {

  private TaskJson() {}

  public static ObjectNode of(TaskView task) {
    return withPayload(withoutPayload(task), task.spec().payload());
  }

  public static ObjectNode withoutPayload(TaskView task) {
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
    // The last holder of a waiting task belongs to its history: it may have died for any reason.
    node.put("leasedBy", task.state() == TaskState.PENDING ? null : task.leasedBy());
    node.put("leaseUntil", Times.formatOrNull(task.leaseUntil()));
    TaskSpec spec = task.spec();
    target(node, "target", spec.target());
    node.set(
        "retry",
        spec.retry() == null ? JsonNodeFactory.instance.nullNode() : Json.of(spec.retry()));
    node.put("concurrencyKey", spec.concurrencyKey());
    node.put("scheduleName", task.scheduleName());
    node.put("fireAt", Times.formatOrNull(task.fireAt()));
    node.set("metadata", Json.of(spec.metadata()));
    node.put("output", task.last().output());
    error(node, task.last());
    node.put("progress", task.progress());
    node.put("crashes", task.crashes());
    callbacks(node, spec.callbacks());
    return node;
  }

  public static void callbacks(ObjectNode node, Callbacks callbacks) {
    target(node, "onComplete", callbacks.onComplete());
    target(node, "onDead", callbacks.onDead());
  }

  private static void target(ObjectNode node, String name, @Nullable Target target) {
    node.set(name, target == null ? JsonNodeFactory.instance.nullNode() : Json.shown(target));
  }

  public static ObjectNode withPayload(ObjectNode node, @Nullable String payload) {
    if (payload == null) {
      node.putNull("payload");
    } else {
      node.putRawValue("payload", new RawValue(payload));
    }
    return node;
  }

  /** Attempts and transitions are newest first, as in the lists of the older ones. */
  static ObjectNode of(TaskStory story) {
    TaskView task = story.task();
    ObjectNode node = of(task);
    waitingFor(node, task, story.isHeld());
    ArrayNode attempts = node.putArray("attempts");
    story.attempts().reversed().forEach(attempt -> attempts.add(of(task.id(), attempt)));
    ArrayNode transitions = node.putArray("transitions");
    story.transitions().reversed().forEach(transition -> transitions.add(of(transition)));
    if (story.olderTransitions() == null) {
      transitions.add(creation(task));
    }
    return node;
  }

  /** Why it has not started, unless other fields tell. */
  private static void waitingFor(ObjectNode node, TaskView task, boolean isHeld) {
    if (isHeld || (task.state() == TaskState.PENDING && task.crashes() > 0)) {
      node.putArray("waitingFor")
          .addObject()
          .put("reason", "suspect")
          .put("since", Times.formatOrNull(isHeld ? task.startedAt() : task.readyAt()))
          .put(
              "text",
              "%s died while running this task. It starts in a small group of such tasks, so that"
                      .formatted(task.crashes() == 1 ? "A node" : task.crashes() + " nodes")
                  + " the task that kills nodes can be found.");
    }
  }

  public static ObjectNode of(TaskId task, TaskStory.Attempt attempt) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("attempt", attempt.attempt());
    node.put("fence", attempt.fence());
    node.put("by", attempt.by());
    node.put("startedAt", Times.formatOrNull(attempt.startedAt()));
    node.put("endedAt", Times.formatOrNull(attempt.endedAt()));
    node.put("duration", duration(attempt.startedAt(), attempt.endedAt()));
    node.put("outcome", attempt.outcome());
    AttemptResult result = attempt.result();
    node.put("status", result.status());
    error(node, result);
    request(node, result.request(), TraceParent.of(task, attempt.fence()));
    node.put("output", result.output());
    return node;
  }

  private static void request(ObjectNode node, @Nullable String kept, String trace) {
    if (kept == null) {
      node.putNull("request");
      return;
    }
    JsonNode traced = withTrace(kept, trace);
    if (traced == null) {
      node.putRawValue("request", new RawValue(kept));
    } else {
      node.set("request", traced);
    }
  }

  /**
   * Adds the trace, which is not stored. Null if the request has no headers: one that was restored
   * from a file may be any JSON.
   */
  private static @Nullable JsonNode withTrace(String kept, String trace) {
    JsonNode request;
    try {
      request = Json.read(kept);
    } catch (JacksonException e) {
      return null; // JSON with a number or a name that is too long for this parser
    }
    if (request.path("headers") instanceof ObjectNode headers) {
      headers.put(TraceParent.HEADER, trace);
      return request;
    }
    return null;
  }

  private static @Nullable String duration(@Nullable Instant start, @Nullable Instant end) {
    return start == null || end == null
        ? null
        : Duration.between(start, end).truncatedTo(ChronoUnit.MILLIS).toString();
  }

  public static ObjectNode of(TaskStory.Transition transition) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("at", Times.format(transition.at()));
    node.put("from", transition.from().name());
    node.put("to", transition.to().name());
    node.put("fence", transition.fence());
    node.put("by", transition.by());
    node.put("reason", transition.reason());
    node.put("cause", cause(transition.reason()));
    return node;
  }

  private static @Nullable String cause(@Nullable String reason) {
    return reason == null
        ? null
        : FailureKind.named(reason).map(kind -> lower(kind.cause())).orElse(null);
  }

  /** The creation, with which the transitions of a task start. It is not stored as a transition. */
  static ObjectNode creation(TaskView task) {
    return JsonNodeFactory.instance
        .objectNode()
        .put("at", Times.format(task.createdAt()))
        .putNull("from")
        .put("to", "PENDING")
        .put("fence", 0)
        .putNull("by")
        .put("reason", "created")
        .putNull("cause");
  }

  /** A claimed task as a worker receives it. */
  public static ObjectNode claimed(ClaimedTask task) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("id", task.id().toString());
    node.put("type", task.type());
    node.put("key", task.key());
    node.put("priority", task.priority());
    node.put("dueAt", Times.format(task.dueAt()));
    node.put("attempt", task.attempt());
    node.put("maxAttempts", task.retry().maxAttempts());
    node.put("token", ClaimToken.of(task.lease()));
    node.put("fence", task.lease().fence());
    node.put("leaseUntil", Times.formatOrNull(task.leaseUntil()));
    node.put("timeout", task.timeout().toString());
    node.put("scheduleName", task.scheduleName());
    node.put("fireAt", Times.formatOrNull(task.fireAt()));
    return withPayload(node, task.payload());
  }

  private static void error(ObjectNode node, AttemptResult result) {
    FailureKind kind = result.failure();
    if (kind == null && result.error() == null) {
      node.putNull("error");
      return;
    }
    ObjectNode error = node.putObject("error");
    error.put("kind", kind == null ? null : kind.label());
    error.put("cause", kind == null ? null : lower(kind.cause()));
    error.put("message", result.error());
    error.put("status", result.status());
  }

  private static String lower(FailureKind.Cause cause) {
    return cause.name().toLowerCase(Locale.ROOT);
  }
}
